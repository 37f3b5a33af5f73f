import { createSecureContext, getCACertificates } from "node:tls";
import { type CheckedTarget, checkDestination } from "./check.ts";
import { DialError } from "./connect.ts";
import { type Deadline, startDeadline } from "./deadline.ts";
import type { EgressDecision } from "./decision.ts";
import { EgressFailed } from "./errors.ts";
import { type EgressHeaders, headerProblem } from "./headers.ts";
import type { EgressPolicy } from "./policy.ts";
import { Pools } from "./pools.ts";
import { type EgressResolver, systemResolver } from "./resolve.ts";
import { type SendRequest, type SentResponse, send } from "./send.ts";

export interface EgressTimeouts {
  /** The one deadline over DNS, connect, TLS, request and response, in ms. Default 15000 (A2A advises 10 to 30 s). */
  readonly totalMs?: number;
  /** TCP and TLS to one address, in ms. Default 4000. A destination with several addresses may use it several times. */
  readonly connectMs?: number;
  /** From the request's start to the response head, in ms. Default 10000. */
  readonly headersMs?: number;
}

export interface EgressClientOptions {
  readonly policy: EgressPolicy;
  /** Default {@link systemResolver}. */
  readonly resolver?: EgressResolver;
  readonly timeouts?: EgressTimeouts;
  /** Certificate authorities, PEM, trusted besides those of the platform. */
  readonly extraCa?: readonly string[];
  /** Sockets to one destination at one time. Default 32. */
  readonly connectionsPerDestination?: number;
  /** Destinations whose idle connections are kept. Default 256. */
  readonly maxDestinations?: number;
  /** How long an idle connection is kept, in ms; a shorter hint of the receiver is honoured. Default 4000. */
  readonly idleMs?: number;
}

export interface CheckOptions {
  readonly signal?: AbortSignal;
}

export interface PostRequest {
  /** `https:` URL of the receiver. Its query is sent and never kept in a decision or an error. */
  readonly url: string;
  readonly headers?: EgressHeaders;
  readonly body: string | Uint8Array;
  readonly signal?: AbortSignal;
  /** Override the client's `totalMs` and `headersMs` for this request. */
  readonly timeouts?: Pick<EgressTimeouts, "totalMs" | "headersMs">;
  /** Return the first 64 KiB of the response body. Default false: what a receiver answers is not ours to keep. */
  readonly keepBody?: boolean;
}

/** For documents that this program needs itself, such as an issuer's keys. */
export interface GetRequest {
  /** `https:` URL, judged as that of a POST. */
  readonly url: string;
  readonly headers?: EgressHeaders;
  readonly signal?: AbortSignal;
  readonly timeouts?: Pick<EgressTimeouts, "totalMs" | "headersMs">;
}

export interface PostResult {
  /** As answered; a redirect (3xx) is returned, never followed. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** At most 64 KiB; empty unless `keepBody`. */
  readonly bodyExcerpt: Buffer;
  readonly bodyComplete: boolean;
  readonly decision: EgressDecision;
  /** The checked address that was dialled. */
  readonly remoteAddress: string;
}

export interface EgressClient {
  /**
   * The whole guard without a request: for registration.
   * @throws EgressDenied, or EgressFailed with a `dns_*` reason
   */
  check(url: string, options?: CheckOptions): Promise<EgressDecision>;
  /**
   * Checks again, then POSTs to an address that was checked.
   * @throws EgressDenied (no socket was opened) or EgressFailed
   */
  post(request: PostRequest): Promise<PostResult>;
  /**
   * Checks, then GETs from an address that was checked. The answer holds the first 64 KiB of the body; a longer one is
   * not `bodyComplete`.
   * @throws EgressDenied (no socket was opened) or EgressFailed
   */
  get(request: GetRequest): Promise<PostResult>;
  /** Ends every connection; requests still open fail with `closed`. */
  close(): Promise<void>;
}

type Outgoing = Omit<PostRequest, "body"> & Pick<SendRequest, "method" | "body">;

/** Answers beyond these many are judged too, but not dialled. */
const MAX_DIALS = 8;

/**
 * @example
 * const egress = createEgressClient({ policy: compilePolicy({ allow: [{ cidr: "10.20.0.0/16" }] }) });
 * const { status } = await egress.post({ url: "https://hooks.example.com/a", body: "{}" });
 */
export function createEgressClient(options: EgressClientOptions): EgressClient {
  const { policy, resolver = systemResolver(), timeouts = {} } = options;
  const { totalMs = 15_000, connectMs = 4000, headersMs = 10_000 } = timeouts;
  const pools = new Pools({
    trust: createSecureContext({
      ca: [...getCACertificates("default"), ...(options.extraCa ?? [])],
      minVersion: "TLSv1.2",
    }),
    connectMs,
    connectionsPerDestination: options.connectionsPerDestination ?? 32,
    maxDestinations: options.maxDestinations ?? 256,
    idleMs: options.idleMs ?? 4000,
  });
  const closing = new AbortController();

  async function within<T>(
    ms: number,
    caller: AbortSignal | undefined,
    work: (deadline: Deadline) => Promise<T>,
  ) {
    if (closing.signal.aborted) throw new EgressFailed("closed");
    const deadline = startDeadline(ms, caller);
    try {
      return await work(deadline);
    } finally {
      deadline.clear();
    }
  }

  async function exchange(request: Outgoing): Promise<PostResult> {
    const limitMs = request.timeouts?.totalMs ?? totalMs;
    const headMs = request.timeouts?.headersMs ?? headersMs;
    return within(limitMs, request.signal, async (deadline) => {
      requireHeaders(request.headers ?? {});
      const checked = await checkDestination(request.url, policy, resolver, deadline);
      if (closing.signal.aborted) throw new EgressFailed("closed", { decision: checked.decision });
      // One clock less where it could never ring first.
      const limits = { headersMs: headMs < limitMs ? headMs : undefined };
      return await dial(pools, checked, request, limits, deadline);
    });
  }

  return {
    check: (url, { signal } = {}) =>
      within(
        totalMs,
        signal,
        async (deadline) => (await checkDestination(url, policy, resolver, deadline)).decision,
      ),
    post: (request) => exchange({ ...request, method: "POST" }),
    get: (request) => exchange({ ...request, method: "GET", body: null, keepBody: true }),
    async close() {
      closing.abort();
      await pools.destroy();
    },
  };
}

/** Tries the checked addresses in turn while nothing has been sent. */
async function dial(
  pools: Pools,
  checked: CheckedTarget,
  request: Outgoing,
  { headersMs }: { readonly headersMs: number | undefined },
  deadline: Deadline,
): Promise<PostResult> {
  const { target, decision } = checked;
  let last: DialError | undefined;
  for (const address of checked.addresses.slice(0, MAX_DIALS)) {
    const { scheme, host, port, path } = target;
    const lease = pools.lease({ scheme, host, port, address, hostIsAddress: target.literal !== undefined });
    let broken = true;
    try {
      const { method, headers = {}, body, keepBody = false } = request;
      const outgoing = { method, path, headers, body, headersMs, keepBody };
      const response = await send(lease.pool, outgoing, deadline);
      broken = false;
      return result(response, decision, address);
    } catch (error) {
      if (!(error instanceof DialError)) throw withDecision(error, decision);
      last = error;
    } finally {
      lease.release(broken);
    }
  }
  throw new EgressFailed(last?.reason ?? "connect_failed", { decision, code: last?.code });
}

function result(response: SentResponse, decision: EgressDecision, remoteAddress: string): PostResult {
  const { status, headers, body, bodyComplete } = response;
  return { status, headers, bodyExcerpt: body, bodyComplete, decision, remoteAddress };
}

function withDecision(error: unknown, decision: EgressDecision): unknown {
  if (!(error instanceof EgressFailed)) return error;
  const { reason, requestStarted, code } = error;
  return new EgressFailed(reason, { requestStarted, decision, code });
}

function requireHeaders(headers: EgressHeaders): void {
  for (const [name, value] of Object.entries(headers)) {
    const problem = headerProblem(name, value);
    if (problem !== undefined) throw new EgressFailed("request_header", { code: problem });
  }
}
