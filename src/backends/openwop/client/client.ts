import { Agent, type Dispatcher, request } from "undici";
import type { z } from "zod";
import {
  createdSchema,
  discoverySchema,
  type EventPage,
  envelopeSchema,
  pageSchema,
  type RunEvent,
  type RunSnapshot,
  runStatusSchema,
  snapshotSchema,
} from "./answers.ts";
import { didNothing, HostRefusal, HostUnreachable, isTransient, retryDelay } from "./errors.ts";
import { readEvents } from "./event-stream.ts";
import { type HostMajor, runPath } from "./run-path.ts";
import { tracedRequest } from "./traced-request.ts";

export interface OpenWopClientOptions {
  /** Origin of the host, without a trailing slash. */
  readonly url: string;
  readonly major: HostMajor;
  /** Bound on one try of a call, in milliseconds. */
  readonly timeoutMs: number;
  /** Bound on a call with its tries, in milliseconds. */
  readonly budgetMs: number;
  /** Connections for calls; event streams have their own, one each. */
  readonly maxConnections: number;
}

/** Body of `POST /runs` (openwop.md 1.2). */
export interface CreateRun {
  readonly workflowId: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

interface CallOptions {
  readonly method: "GET" | "POST";
  readonly token: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Added to the bound of one try: for calls that wait on purpose. */
  readonly waitMs?: number;
  /** One try only. */
  readonly once?: boolean;
}

const MAX_BODY_BYTES = 8_000_000;
/** The host sends a comment at least every 30 s. */
const STREAM_SILENCE_MS = 75_000;
const IDLE_STREAM_MS = 1000;
const CONNECT_MS = 3000;
const RETRY_CAP_MS = 1500;

/** Errors of a connection that was never made: the host saw nothing. */
const NOT_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
  "EHOSTUNREACH",
]);

/**
 * The calls that Baton makes to an OpenWOP host, in either major. Follows no redirect; sends no header of a client's
 * (OW-59). Throws {@link HostRefusal} and {@link HostUnreachable}.
 */
export class OpenWopClient {
  readonly #options: OpenWopClientOptions;
  readonly #calls: Agent;
  readonly #streams: Agent;

  constructor(options: OpenWopClientOptions) {
    this.#options = options;
    const connect = { timeout: CONNECT_MS };
    this.#calls = new Agent({ connections: options.maxConnections, connect });
    // A stream's connection is of no use to the next call: idle ones go, whatever the host would keep.
    this.#streams = new Agent({
      connect,
      bodyTimeout: STREAM_SILENCE_MS,
      keepAliveTimeout: IDLE_STREAM_MS,
      keepAliveMaxTimeout: IDLE_STREAM_MS,
    });
  }

  get major(): HostMajor {
    return this.#options.major;
  }

  async createRun(
    token: string,
    body: CreateRun,
    idempotencyKey: string,
    trace: Readonly<Record<string, string>>,
  ): Promise<{ runId: string; status: string }> {
    const headers = { ...trace, "idempotency-key": idempotencyKey };
    const path = this.major === 1 ? "/v1/runs" : "/runs";
    return this.#json(path, createdSchema, { method: "POST", token, body, headers });
  }

  async readRun(token: string, runId: string, once = false): Promise<RunSnapshot> {
    return this.#json(runPath(this.major, runId), snapshotSchema, { method: "GET", token, once });
  }

  /** Status of the run after the cancel: `cancelling` or `cancelled`. */
  async cancelRun(token: string, runId: string, reason: string): Promise<string | undefined> {
    const path = runPath(this.major, runId, "cancel");
    return (await this.#json(path, runStatusSchema, { method: "POST", token, body: { reason } })).status;
  }

  async resolveInterrupt(
    token: string,
    runId: string,
    nodeId: string,
    resumeValue: unknown,
    idempotencyKey: string,
  ): Promise<void> {
    await this.#json(runPath(this.major, runId, "interrupts", nodeId), runStatusSchema, {
      method: "POST",
      token,
      body: { resumeValue },
      headers: { "idempotency-key": idempotencyKey },
    });
  }

  /** Events after a sequence, waiting at most `seconds` (1 to 60) for the first. */
  async poll(token: string, runId: string, after: number, seconds: number): Promise<EventPage> {
    const query = new URLSearchParams({ timeout: String(seconds) });
    if (after >= 0) query.set(this.major === 1 ? "lastSequence" : "afterSequence", String(after));
    const path = `${runPath(this.major, runId, "events", "poll")}?${query}`;
    const page = await this.#json(path, pageSchema, {
      method: "GET",
      token,
      waitMs: seconds * 1000,
      once: true,
    });
    return { ...page, events: page.events.filter((event) => event.sequence > after) };
  }

  /** The events after a sequence as they happen. Ends when the host ends the stream. */
  async *events(
    token: string,
    runId: string,
    after: number,
    signal: AbortSignal,
    onOpen?: () => void,
  ): AsyncGenerator<RunEvent> {
    const response = await this.#send(
      `${runPath(this.major, runId, "events")}?streamMode=updates`,
      {
        method: "GET",
        token,
        headers: {
          accept: "text/event-stream",
          ...(after < 0 ? {} : { "last-event-id": String(after) }),
        },
      },
      this.#streams,
      signal,
    );
    onOpen?.();
    try {
      yield* readEvents(response.body);
    } catch (error) {
      if (signal.aborted) return;
      throw new HostUnreachable(false, error);
    } finally {
      response.body.destroy();
    }
  }

  /** The body of an artifact: an A2A Artifact where a v2 host offers it, else the host's own JSON. */
  async artifact(token: string, runId: string, artifactId: string): Promise<unknown> {
    const path = runPath(this.major, runId, "artifacts", artifactId);
    const accept = this.major === 2 ? "application/a2a+json, application/json;q=0.5" : "application/json";
    const response = await this.#retrying(() =>
      this.#send(path, { method: "GET", token, headers: { accept } }, this.#calls),
    );
    return readBody(response);
  }

  /** Whether the host says that it may ask for a credential out of band (RFC 0199). */
  async credentialInterrupts(): Promise<boolean> {
    const claim = (await this.#discovery()).oauth?.credentialInterrupt;
    return claim !== undefined && claim !== null && claim !== false;
  }

  /** The protocol version of the host's document for this major, such as `2.0`; undefined where it says none. */
  async protocolVersion(): Promise<string | undefined> {
    const { protocolVersion } = await this.#discovery();
    return typeof protocolVersion === "string" ? protocolVersion : undefined;
  }

  async close(): Promise<void> {
    await Promise.all([this.#calls.destroy(), this.#streams.destroy()]);
  }

  #discovery() {
    return this.#json("/.well-known/openwop", discoverySchema, { method: "GET", token: "", once: true });
  }

  async #json<S extends z.ZodType>(path: string, schema: S, options: CallOptions): Promise<z.output<S>> {
    const attempt = async () => readBody(await this.#send(path, options, this.#calls));
    const body = options.once === true ? await attempt() : await this.#retrying(attempt);
    const checked = schema.safeParse(body);
    if (!checked.success) throw new HostUnreachable(false, checked.error);
    return checked.data;
  }

  /**
   * Tries again what may succeed, within the budget; what the host asks to wait longer for is given up at once. Where an
   * earlier try may have been carried out, the last one's refusal does not say that nothing was.
   */
  async #retrying<T>(work: () => Promise<T>): Promise<T> {
    const until = Date.now() + this.#options.budgetMs;
    let doubtful = false;
    for (let attempt = 0; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (!isTransient(error)) throw error;
        doubtful ||= !didNothing(error);
        const delay = retryDelay(error, attempt, RETRY_CAP_MS);
        if (Date.now() + delay >= until) throw doubtful ? new HostUnreachable(false, error) : error;
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
    }
  }

  async #send(
    path: string,
    options: CallOptions,
    dispatcher: Agent,
    signal?: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    // What the message itself says of its trace comes before ours (OW-60).
    return tracedRequest(options.method, this.#options.url, path, (trace) =>
      this.#request(path, { ...options, headers: { ...trace, ...options.headers } }, dispatcher, signal),
    );
  }

  async #request(
    path: string,
    options: CallOptions,
    dispatcher: Agent,
    signal: AbortSignal | undefined,
  ): Promise<Dispatcher.ResponseData> {
    const { method, token, body } = options;
    const timeoutMs = this.#options.timeoutMs + (options.waitMs ?? 0);
    let response: Dispatcher.ResponseData;
    try {
      response = await request(`${this.#options.url}${path}`, {
        method,
        dispatcher,
        headersTimeout: timeoutMs,
        ...(signal === undefined ? { signal: AbortSignal.timeout(timeoutMs + CONNECT_MS) } : { signal }),
        headers: {
          accept: "application/json",
          ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
          ...(this.major === 2 ? { "openwop-version": "2.0" } : {}),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...options.headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      throw new HostUnreachable(NOT_SENT.has(code), error);
    }
    if (response.statusCode >= 200 && response.statusCode < 300) return response;
    throw await refusalOf(response);
  }
}

async function refusalOf(response: Dispatcher.ResponseData): Promise<HostRefusal> {
  const body = await readBody(response).catch(() => undefined);
  const envelope = envelopeSchema.safeParse(body);
  const header = response.headers["retry-after"];
  const seconds = typeof header === "string" ? Number(header) : Number.NaN;
  const retryAfterMs = Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
  return new HostRefusal(response.statusCode, envelope.success ? envelope.data.error : "", retryAfterMs);
}

async function readBody(response: Dispatcher.ResponseData): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body) {
      const bytes = chunk as Buffer;
      size += bytes.length;
      if (size > MAX_BODY_BYTES) throw new Error("the answer is too large");
      chunks.push(bytes);
    }
    return JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}");
  } catch (error) {
    throw new HostUnreachable(false, error);
  }
}
