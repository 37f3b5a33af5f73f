import {
  type EgressDecision,
  EgressDenied,
  EgressFailed,
  type EgressFailureReason,
} from "../egress/index.ts";
import type { FailureReason } from "./failure.ts";

/** What came of one attempt. */
export type AttemptOutcome =
  | { readonly kind: "delivered"; readonly status: number; readonly decision: EgressDecision }
  | {
      readonly kind: "failed";
      readonly reason: FailureReason;
      /** Trying again may help. */
      readonly retryable: boolean;
      /** The receiver did not work, as against having refused this push: counts for its circuit breaker. */
      readonly receiverDown: boolean;
      readonly status?: number;
      /** The platform's error code, such as `ECONNREFUSED`. */
      readonly code?: string;
      readonly decision?: EgressDecision;
      /** What the receiver asked for, in milliseconds; undefined: nothing. */
      readonly retryAfterMs?: number;
    }
  /** We stopped it: the config was deleted, or this process ends. Not an attempt of the receiver's doing. */
  | { readonly kind: "interrupted" };

/** Final in spite of being 4xx-like: see Q16. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 425, 429]);

/** Judges an answer (Q16, OW-41, OW-47). `now` in milliseconds. */
export function judgeResponse(
  status: number,
  headers: Readonly<Record<string, string>>,
  decision: EgressDecision,
  now: number,
): AttemptOutcome {
  if (status >= 200 && status < 300) return { kind: "delivered", status, decision };
  const failed = { kind: "failed", status, decision, receiverDown: status >= 500 } as const;
  if (headers["webhook-delivery"]?.trim().toLowerCase() === "abort-message") {
    return { ...failed, reason: "aborted_by_receiver", retryable: false };
  }
  if (status >= 300 && status < 400) return { ...failed, reason: "redirect", retryable: false };
  if (!RETRYABLE.has(status) && (status < 500 || status > 599)) {
    return { ...failed, reason: "status_final", retryable: false };
  }
  const retryAfterMs = readRetryAfter(headers["retry-after"], now);
  return {
    ...failed,
    reason: "status_retryable",
    retryable: true,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** `Retry-After` as seconds or as a date (RFC 9110 section 10.2.3), in milliseconds from now. */
export function readRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

const FAILURES: Readonly<Record<EgressFailureReason, FailureReason | undefined>> = {
  dns_timeout: "dns",
  dns_failed: "dns",
  dns_no_answer: "dns",
  connect_failed: "network",
  connect_timeout: "timeout",
  tls_failed: "tls",
  tls_certificate: "tls",
  headers_timeout: "timeout",
  total_timeout: "timeout",
  reset: "network",
  protocol: "protocol",
  response_head_too_large: "protocol",
  request_header: "unsendable",
  aborted: undefined,
  closed: undefined,
};

/**
 * Judges what the egress client threw. A refusal is final: the same answer would come again, and asking often is what
 * an attacker wants (S13, S28). A resolver that is down is not a refusal (SB-76).
 */
export function judgeError(thrown: unknown): AttemptOutcome {
  if (thrown instanceof EgressDenied) {
    const { decision } = thrown;
    return { kind: "failed", reason: "egress_denied", retryable: false, receiverDown: false, decision };
  }
  if (!(thrown instanceof EgressFailed)) throw thrown;
  const reason = FAILURES[thrown.reason];
  if (reason === undefined) return { kind: "interrupted" };
  const { code, decision, retryable } = thrown;
  return {
    kind: "failed",
    reason,
    retryable,
    receiverDown: reason !== "unsendable",
    ...(code === undefined ? {} : { code }),
    ...(decision === undefined ? {} : { decision }),
  };
}
