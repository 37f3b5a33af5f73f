import type { Dispatcher, Pool } from "undici";
import { DialError } from "./connect.ts";
import type { Deadline } from "./deadline.ts";
import { EgressFailed, type EgressFailureReason } from "./errors.ts";
import type { EgressHeaders } from "./headers.ts";

/** Most of a response body that is ever read, in bytes; the connection is cut after it. */
export const MAX_RESPONSE_BYTES = 64 * 1024;

export interface SentResponse {
  readonly status: number;
  /** Lower-case names; repeated fields joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** False where the body was cut by the size limit, the deadline or the receiver. The status holds all the same. */
  readonly bodyComplete: boolean;
}

export interface SendRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: EgressHeaders;
  /** Null for a GET. */
  readonly body: string | Uint8Array | null;
  /** Absent: the deadline is all that bounds the wait for the response head. */
  readonly headersMs: number | undefined;
  readonly keepBody: boolean;
}

/** One request on one pool; at most one attempt, no redirect. Throws {@link DialError} or {@link EgressFailed}. */
export function send(pool: Pool, request: SendRequest, deadline: Deadline): Promise<SentResponse> {
  const exchange = new Exchange(request, deadline);
  if (!deadline.signal.aborted) {
    const { method, path, headers, body } = request;
    try {
      pool.dispatch({ method, path, headers: { ...headers }, body, idempotent: false }, exchange);
    } catch {
      exchange.fail(new EgressFailed("closed"));
    }
  }
  return exchange.outcome;
}

/** The state of one request, driven by undici's callbacks and by the deadline, whichever comes first. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #result = Promise.withResolvers<SentResponse>();
  readonly #request: SendRequest;
  readonly #deadline: Deadline;
  #controller: Dispatcher.DispatchController | undefined;
  #headersTimer: NodeJS.Timeout | undefined;
  #started = false;
  #done = false;
  #head: Pick<SentResponse, "status" | "headers"> | undefined;
  #read = 0;
  readonly #chunks: Buffer[] = [];

  constructor(request: SendRequest, deadline: Deadline) {
    this.#request = request;
    this.#deadline = deadline;
    if (deadline.signal.aborted) this.#onDeadline();
    else deadline.signal.addEventListener("abort", this.#onDeadline, { once: true });
  }

  get outcome(): Promise<SentResponse> {
    return this.#result.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#done) {
      controller.abort(new Error("too late"));
      return;
    }
    this.#controller = controller;
    this.#started = true;
    const { headersMs } = this.#request;
    if (headersMs === undefined) return;
    this.#headersTimer = setTimeout(() => this.#failWith("headers_timeout"), headersMs);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ResponseHeaders,
  ): void {
    if (status < 200) return;
    clearTimeout(this.#headersTimer);
    this.#head = { status, headers: flatten(headers) };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done) return;
    const room = MAX_RESPONSE_BYTES - this.#read;
    this.#read += chunk.length;
    // Copied: undici's buffer belongs to its parser.
    if (this.#request.keepBody) this.#chunks.push(Buffer.from(chunk.subarray(0, room)));
    if (chunk.length > room) this.#finish(false);
  }

  onResponseEnd(): void {
    this.#finish(true);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
    if (this.#head !== undefined) this.#finish(false);
    else if (error instanceof DialError) this.fail(error);
    else this.#failWith(failureReason(error, code), code);
  }

  fail(error: DialError | EgressFailed): void {
    if (!this.#close()) return;
    this.#result.reject(error);
  }

  readonly #onDeadline = (): void => {
    // The receiver has answered; what is missing is a body that nobody needs to wait for.
    if (this.#head !== undefined) this.#finish(false);
    else this.#failWith(this.#deadline.failure().reason);
  };

  #failWith(reason: EgressFailureReason, code?: string): void {
    this.fail(new EgressFailed(reason, { requestStarted: this.#started, code }));
  }

  #finish(bodyComplete: boolean): void {
    if (this.#head === undefined || !this.#close(bodyComplete)) return;
    const response = { ...this.#head, body: Buffer.concat(this.#chunks), bodyComplete };
    // undici gives the connection back one turn of the event loop after this callback. A caller that posts again before
    // that would be given a new connection beside the free one, so the answer waits for the turn after it.
    setImmediate(() => setImmediate(() => this.#result.resolve(response)));
  }

  /** @returns false where the exchange had ended before */
  #close(keepConnection = false): boolean {
    if (this.#done) return false;
    this.#done = true;
    clearTimeout(this.#headersTimer);
    this.#deadline.signal.removeEventListener("abort", this.#onDeadline);
    if (!keepConnection) this.#controller?.abort(new Error("not needed"));
    return true;
  }
}

type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

function flatten(headers: ResponseHeaders): Readonly<Record<string, string>> {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [[name.toLowerCase(), Array.isArray(value) ? value.join(", ") : value] as const],
  );
  return Object.fromEntries(entries);
}

function failureReason(error: Error, code: string | undefined): EgressFailureReason {
  if (code === "UND_ERR_HEADERS_OVERFLOW") return "response_head_too_large";
  if (code === "UND_ERR_DESTROYED" || code === "UND_ERR_CLOSED") return "closed";
  return error.name === "HTTPParserError" || code?.startsWith("HPE_") ? "protocol" : "reset";
}
