/** Bounds that the listener holds before any handler runs. Times in milliseconds, sizes in bytes. */
export interface ListenerLimits {
  /**
   * How long a new connection may take to say which protocol it speaks: the TLS handshake, then the first bytes.
   * A connection that stays silent is closed without an answer.
   */
  readonly sniffTimeoutMs: number;
  /** HTTP/1.1: from the first byte of a request to the end of its headers; then 408. */
  readonly headersTimeoutMs: number;
  /** HTTP/1.1: from the first byte of a request to the end of its body; then 408. Does not bound the response. */
  readonly requestTimeoutMs: number;
  /**
   * HTTP/1.1: how long an idle connection is kept. Longer than the idle limit of the balancer in front, or requests
   * race with the close; 60 s is common there.
   */
  readonly keepAliveTimeoutMs: number;
  /**
   * HTTP/1.1: what clients are told about it (`Keep-Alive: timeout`), in milliseconds; 0: the truth. Clients that heed it use
   * no connection that has been idle for longer, so one that is closed after that time meets no request.
   */
  readonly keepAliveHintMs: number;
  /** HTTP/2: a session without streams and without frames, pings included, is closed after this time. */
  readonly sessionIdleMs: number;
  /**
   * HTTP/2: pause between pings to a session with open streams. A silent gRPC stream has no other sign of life, and proxies
   * cut what is silent for a minute (G8).
   */
  readonly pingMs: number;
  /** How long a client may take nothing of an answer that is complete; then it is cut. */
  readonly stallMs: number;
  /** All headers of one request together; then 431, or a reset on HTTP/2. */
  readonly maxHeaderBytes: number;
  /** Open connections; more are dropped at once. */
  readonly maxConnections: number;
  /** HTTP/2: streams that one session may have open, announced in SETTINGS. */
  readonly maxConcurrentStreams: number;
}

export const DEFAULT_LIMITS: ListenerLimits = {
  sniffTimeoutMs: 10_000,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
  keepAliveHintMs: 0,
  sessionIdleMs: 15 * 60_000,
  pingMs: 15_000,
  stallMs: 60_000,
  maxHeaderBytes: 16_384,
  maxConnections: 18_000,
  maxConcurrentStreams: 1_000,
};

/** What clients are told of how long an idle connection is kept, as the value of `Keep-Alive`; undefined: the truth. */
export function keepAliveHint({ keepAliveHintMs }: ListenerLimits): string | undefined {
  return keepAliveHintMs > 0 ? `timeout=${Math.max(1, Math.floor(keepAliveHintMs / 1000))}` : undefined;
}
