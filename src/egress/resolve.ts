import { Resolver as DnsResolver, lookup } from "node:dns/promises";
import { EgressFailed } from "./errors.ts";

export interface ResolveQuestion {
  /** Lower case, ASCII, no trailing dot. */
  readonly name: string;
  /** True for a name that the operator allowed by name: the machine's hosts file and search list may complete it. */
  readonly internal: boolean;
  /** Aborts at the deadline of the whole request. */
  readonly signal: AbortSignal;
}

/**
 * Names to addresses. Answers **all** addresses, A and AAAA, at the end of any CNAME chain; the guard judges each.
 * Throws {@link EgressFailed} with a `dns_*` reason; a resolver that is down must not look like a name that does
 * not exist, and neither looks like a refusal.
 */
export interface EgressResolver {
  resolve(question: ResolveQuestion): Promise<readonly string[]>;
}

export interface SystemResolverOptions {
  /** DNS servers as `ip` or `ip:port`. Default: those of the machine. */
  readonly servers?: readonly string[];
  /** Milliseconds for one try of one query. Default 2000. */
  readonly timeoutMs?: number;
  /** Tries per query. Default 2. */
  readonly tries?: number;
}

const ABSENT: ReadonlySet<string> = new Set(["ENODATA", "ENOTFOUND"]);
const LATE: ReadonlySet<string> = new Set(["ETIMEOUT", "ECANCELLED"]);

/**
 * Public names go straight to DNS: no search list can complete them, the hosts file cannot redirect them, and a
 * query can be cancelled, where getaddrinfo would hold one of the process's four worker threads until it ends.
 * Internal names that the operator allowed go through getaddrinfo, as the rest of the machine sees them.
 */
export function systemResolver(options: SystemResolverOptions = {}): EgressResolver {
  const { servers, timeoutMs = 2000, tries = 2 } = options;
  return {
    resolve({ name, internal, signal }) {
      if (internal) return machineLookup(name, signal);
      const dns = new DnsResolver({ timeout: timeoutMs, tries });
      if (servers !== undefined) dns.setServers(servers);
      return queryBoth(dns, name, signal);
    },
  };
}

async function queryBoth(dns: DnsResolver, name: string, signal: AbortSignal): Promise<readonly string[]> {
  const cancel = () => dns.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const settled = await Promise.allSettled([dns.resolve4(name), dns.resolve6(name)]);
    const addresses = settled.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
    // One family may fail (many name servers break on AAAA): only judged answers are ever dialled, so a missing one
    // cannot hurt.
    if (addresses.length > 0) return addresses;
    const codes = settled.map((result) =>
      result.status === "rejected" ? errorCode(result.reason) : "ENODATA",
    );
    throw dnsFailure(codes.find((code) => !ABSENT.has(code)) ?? "ENOTFOUND");
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

async function machineLookup(name: string, signal: AbortSignal): Promise<readonly string[]> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(new EgressFailed("dns_timeout"));
  signal.addEventListener("abort", abort, { once: true });
  try {
    // getaddrinfo cannot be cancelled; the caller stops waiting, the thread comes back by itself.
    const answers = await Promise.race([lookup(name, { all: true, verbatim: true }), aborted.promise]);
    return answers.map((answer) => answer.address);
  } catch (error) {
    throw error instanceof EgressFailed ? error : dnsFailure(errorCode(error));
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function dnsFailure(code: string): EgressFailed {
  if (ABSENT.has(code)) return new EgressFailed("dns_no_answer", { code });
  return new EgressFailed(LATE.has(code) ? "dns_timeout" : "dns_failed", { code });
}

function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "UNKNOWN";
}
