import type { EgressDecision } from "./decision.ts";

/** The guard refused. Final for this URL under this policy and these DNS answers; trying at once again is no use. */
export class EgressDenied extends Error {
  override readonly name = "EgressDenied";
  readonly retryable = false;
  readonly decision: EgressDecision;

  constructor(decision: EgressDecision) {
    // The text may reach the caller who chose the URL, so it says which arm, not what DNS answered.
    super(`the destination is refused (${decision.arm}: ${decision.reason})`);
    this.decision = decision;
  }
}

export type EgressFailureReason =
  /** The resolver did not answer in time. */
  | "dns_timeout"
  /** The resolver is out of order. */
  | "dns_failed"
  /** The name has no address. */
  | "dns_no_answer"
  | "connect_failed"
  | "connect_timeout"
  | "tls_failed"
  /** The certificate is not trusted, expired, or for another name. */
  | "tls_certificate"
  /** No response head in time. */
  | "headers_timeout"
  /** The one deadline over DNS, connect, TLS and response passed. */
  | "total_timeout"
  /** The connection broke before a response head came. */
  | "reset"
  /** What came was not HTTP. */
  | "protocol"
  | "response_head_too_large"
  /** A request header has a character that would let it forge another one, or is ours to set. */
  | "request_header"
  | "aborted"
  | "closed";

const FINAL: ReadonlySet<EgressFailureReason> = new Set(["request_header", "aborted", "closed"]);

/** Allowed, but it did not work. The reason is a closed list, so no body or credential can leak through it. */
export class EgressFailed extends Error {
  override readonly name = "EgressFailed";
  readonly reason: EgressFailureReason;
  readonly retryable: boolean;
  /** True where bytes of the request may have left: the receiver may have acted on it. */
  readonly requestStarted: boolean;
  readonly decision?: EgressDecision;
  /** The platform's code (`ECONNREFUSED`, `CERT_HAS_EXPIRED`); never its message, which can quote the response. */
  readonly code?: string;

  constructor(
    reason: EgressFailureReason,
    options: {
      requestStarted?: boolean;
      decision?: EgressDecision | undefined;
      code?: string | undefined;
    } = {},
  ) {
    super(`the request did not succeed (${reason})`);
    this.reason = reason;
    this.retryable = !FINAL.has(reason);
    this.requestStarted = options.requestStarted ?? false;
    if (options.decision !== undefined) this.decision = options.decision;
    if (options.code !== undefined) this.code = options.code;
  }
}

/** The operator's policy is wrong. The message is a sentence for the operator. */
export class EgressPolicyError extends Error {
  override readonly name = "EgressPolicyError";
}
