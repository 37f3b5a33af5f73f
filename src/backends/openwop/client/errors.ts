/** The host answered with an error. Its text is not kept: nothing of it may reach a client (OW-35). */
export class HostRefusal extends Error {
  override readonly name = "HostRefusal";
  readonly status: number;
  /** `error` of the host's envelope, such as `run_terminal`; empty where the body was no envelope. */
  readonly code: string;
  /** From Retry-After, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, code: string, retryAfterMs: number | undefined) {
    super(`the host answered ${status}${code === "" ? "" : ` ${code}`}`);
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No usable answer. `refused`: the host surely did nothing, since no connection was made. */
export class HostUnreachable extends Error {
  override readonly name = "HostUnreachable";
  readonly refused: boolean;

  constructor(refused: boolean, cause: unknown) {
    super("the host gave no usable answer", { cause });
    this.refused = refused;
  }
}

/** Whether another try may succeed. */
export function isTransient(error: unknown): boolean {
  if (error instanceof HostUnreachable) return true;
  if (!(error instanceof HostRefusal)) return false;
  return error.status === 429 || error.status >= 500 || error.code === "idempotency_in_flight";
}

/** Whether the host surely did nothing of what was asked this time. */
export function didNothing(error: unknown): boolean {
  if (error instanceof HostUnreachable) return error.refused;
  return error instanceof HostRefusal && error.status < 500 && error.code !== "idempotency_in_flight";
}

/**
 * Whether the host will not do it however often it is asked: then what an earlier try may have done is settled, too. A
 * refused credential is not that: the operator may put another in its place.
 */
export function isFinal(error: unknown): boolean {
  return error instanceof HostRefusal && error.status !== 401 && !isTransient(error);
}

/** How long until the next try, in milliseconds: what the host asked for, else doubling with jitter. */
export function retryDelay(error: unknown, attempt: number, capMs: number): number {
  if (error instanceof HostRefusal && error.retryAfterMs !== undefined) return error.retryAfterMs;
  return Math.min(capMs, 100 * 2 ** attempt) * (0.5 + Math.random() / 2);
}
