/** The retry policy of pushes (Q16, OW-47): bounded, exponential, with full jitter. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly baseMs: number;
  readonly capMs: number;
  /** Longest Retry-After that is honoured, in milliseconds. */
  readonly retryAfterCapMs: number;
}

/**
 * Milliseconds to wait after the n-th failed attempt (n from 1), or undefined where it was the last. Full jitter: any
 * time up to the exponential bound, so that receivers that failed together are not called together; never earlier than
 * the receiver asked.
 */
export function retryDelay(
  policy: RetryPolicy,
  attempt: number,
  retryAfterMs: number | undefined,
  random: () => number = Math.random,
): number | undefined {
  if (attempt >= policy.attempts) return undefined;
  const bound = Math.min(policy.capMs, policy.baseMs * 2 ** (attempt - 1));
  const asked = Math.min(retryAfterMs ?? 0, policy.retryAfterCapMs);
  return Math.max(asked, random() * bound);
}
