/**
 * Why an attempt failed or a push was given up. A closed list: it goes into records, logs, metrics and answers, so
 * nothing that a receiver or a caller wrote can stand in it (S26).
 */
const FAILURE_REASONS = [
  /** The connection could not be made, or broke before an answer. */
  "network",
  /** No answer in time. */
  "timeout",
  /** TLS failed, or the certificate is not good for the name. */
  "tls",
  /** The resolver is out of order, or the name has no address now. */
  "dns",
  /** What came back was not HTTP. */
  "protocol",
  /** A status that may pass: 408, 425, 429, 5xx. */
  "status_retryable",
  /** A status that will not pass: any other 4xx, or one that HTTP does not know. */
  "status_final",
  /** A 3xx; redirects are not followed (OW-41). */
  "redirect",
  /** The egress guard refused the destination (OW-40). */
  "egress_denied",
  /** The receiver said `webhook-delivery: abort-message`. */
  "aborted_by_receiver",
  /** It could not be sent in time: the receiver's limits or its breaker held it back. */
  "expired",
  /** Too many pushes waited for this config. */
  "lane_full",
  /** The credential was discarded before this push. */
  "credential_gone",
  /** No key opens the credential. */
  "credential_unreadable",
  /** The event cannot be written as this version's body, or a header value is not allowed. */
  "unsendable",
] as const;

export type FailureReason = (typeof FAILURE_REASONS)[number];

export function isFailureReason(text: string): text is FailureReason {
  return (FAILURE_REASONS as readonly string[]).includes(text);
}
