import { randomUUID } from "node:crypto";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { Caller } from "../../domain/caller.ts";
import { BatonError } from "../../domain/errors.ts";
import type { Call } from "../../service/call.ts";
import { StreamEnd } from "../../service/open-streams.ts";
import type { DoorbellRing, RingTarget } from "../../service/worker/doorbell.ts";
import { type ChannelEvent, channelNotification } from "./channel.ts";
import { HeldTodos } from "./held-todos.ts";
import type { McpServices } from "./services.ts";
import { createToolServer } from "./tool-server.ts";

export interface SessionOptions {
  readonly services: McpServices;
  readonly version: string;
  /** Without a request or an open stream for this long, in milliseconds, the session ends. */
  readonly idleMs: number;
  readonly keepAliveMs: number;
  onEnd(session: McpSession): void;
  onError(error: BatonError): void;
}

/** Notifications that a client has not taken yet; one more is dropped (SB-73). */
const BUFFER = 16;

/**
 * One client's session: it belongs to the endpoint that opened it, and ends with it, after a DELETE, or when it is idle.
 * Ending is gentle: what is being answered is answered. On a gateway that drains, a session answers to its end but has
 * no stream any more.
 */
export class McpSession implements RingTarget {
  readonly id = randomUUID();
  readonly caller: Caller;
  readonly #options: SessionOptions;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  readonly #held: HeldTodos;
  readonly #registration: { readonly signal: AbortSignal; release(): void };
  #requests = 0;
  /** The open notification stream; undefined: none. */
  #stream: { leave?: () => void } | undefined;
  #unread = 0;
  #idle: NodeJS.Timeout | undefined;
  #draining = false;
  #ended = false;

  /** Throws Unavailable on a gateway that drains. */
  constructor(opening: Call, options: SessionOptions) {
    this.caller = opening.caller;
    this.#options = options;
    const never = new AbortController().signal;
    this.#registration = options.services.streams.open({ ...opening, signal: never });
    const { signal } = this.#registration;
    signal.addEventListener("abort", () => this.#interrupted(signal.reason), { once: true });
    this.#held = new HeldTodos(options.services.worker, (event, ring) => this.#notify(event, ring));
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => this.id,
      enableJsonResponse: true,
      keepAliveMs: options.keepAliveMs,
    });
  }

  get agent(): string {
    return this.caller.agent;
  }

  get queues(): readonly string[] {
    return this.caller.queues;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Somebody listens, has room, and may do something about a ring. */
  get ready(): boolean {
    const useful = (["claim_next", "claim", "list_todos"] as const).some((verb) =>
      this.caller.verbs.has(verb),
    );
    return useful && this.#stream !== undefined && this.#unread < BUFFER;
  }

  /** Connects the tools. Call once, before the first request. */
  async open(): Promise<void> {
    const { services, version, onError } = this.#options;
    const onHeld = (todoId: string, call: Call) => {
      if (!this.#ended && !this.#draining) this.#held.add(todoId, call);
    };
    await createToolServer({ services, version, onHeld, onError }).connect(this.#transport);
  }

  /** Answers one POST; `body` is its parsed JSON. Throws Canceled when the client goes away first. */
  async post(request: Request, body: unknown, call: Call): Promise<Response> {
    this.#requests += 1;
    this.#rest();
    const authInfo = { token: "", clientId: call.caller.id, scopes: [], extra: { call } };
    try {
      const answer = this.#transport.handleRequest(request, { parsedBody: body, authInfo });
      return await orGone(answer, call.signal);
    } finally {
      this.#requests -= 1;
      this.#rest();
    }
  }

  /**
   * Opens the notification stream. A second one takes the place of the first: a client that lost its connection is back
   * before anybody notices that it was gone.
   */
  async listen(request: Request): Promise<Response> {
    if (this.#draining)
      throw new BatonError("Unavailable", "the gateway is shutting down", { retryAfterMs: 1000 });
    this.#closeStream();
    const response = await this.#transport.handleRequest(request);
    if (response.status !== 200) return response;
    const stream: { leave?: () => void } = {};
    this.#stream = stream;
    this.#unread = 0;
    this.#rest();
    try {
      const leave = await this.#options.services.doorbell.join(this);
      if (this.#stream === stream) stream.leave = leave;
      else leave();
    } catch (error) {
      this.#closeStream();
      throw error;
    }
    return response;
  }

  /** The client took a notification. */
  taken(): void {
    this.#unread = Math.max(0, this.#unread - 1);
  }

  /** The stream of this response is no more. */
  streamClosed(stream: unknown): void {
    if (stream === this.#stream) this.#closeStream();
  }

  /** Identifies the open stream for {@link streamClosed}. */
  get stream(): unknown {
    return this.#stream;
  }

  ring(ring: DoorbellRing): void {
    this.#notify("ready", ring);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#held.clear();
    this.#registration.release();
    this.#closeStream();
    this.#options.onEnd(this);
    this.#rest();
  }

  #interrupted(reason: unknown): void {
    if (!(reason instanceof StreamEnd) || reason.error.kind !== "StreamInterrupted") {
      this.end();
      return;
    }
    this.#draining = true;
    this.#held.clear();
    this.#registration.release();
    this.#closeStream();
  }

  #notify(event: ChannelEvent, ring: DoorbellRing): void {
    if (this.#stream === undefined || this.#unread >= BUFFER) return;
    this.#unread += 1;
    this.#transport.send(channelNotification(event, ring)).catch((error: unknown) => {
      this.#options.onError(BatonError.from(error));
    });
  }

  #closeStream(): void {
    this.#stream?.leave?.();
    this.#stream = undefined;
    this.#transport.closeStandaloneSSEStream();
    this.#rest();
  }

  /** Sets the idle clock while nothing goes on; closes for good what has ended once nothing does. */
  #rest(): void {
    clearTimeout(this.#idle);
    if (this.#requests > 0) return;
    if (this.#ended) {
      this.#transport.close().catch(() => {});
    } else if (this.#stream === undefined) {
      this.#idle = setTimeout(() => this.end(), this.#options.idleMs);
      this.#idle.unref();
    }
  }
}

function orGone<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new BatonError("Canceled", "the client went away"));
    if (signal.aborted) gone();
    signal.addEventListener("abort", gone, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", gone));
  });
}
