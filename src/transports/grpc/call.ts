import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import {
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type Message,
} from "@bufbuild/protobuf";
import type { Caller } from "../../domain/caller.ts";
import { BatonError } from "../../domain/errors.ts";
import type { ProtocolVersion, RequestMeta, StreamItem } from "../../service/call.ts";
import type { Dispatcher } from "../../service/dispatcher.ts";
import { inflate, readFrame, writeFrame } from "./frame.ts";
import { GrpcReply } from "./reply.ts";
import { RequestBody } from "./request-body.ts";

export interface GrpcCallOptions {
  readonly dispatcher: Dispatcher;
  /** Largest request message in bytes (SB-53, Q24). */
  readonly readMaxBytes: number;
  /** How long a client may take nothing of an answer before it is cut, in milliseconds; default 60,000 (SB-49). */
  readonly stallMs?: number;
  /** How long a request message may take to arrive, in milliseconds; default 30,000. */
  readonly bodyTimeoutMs?: number;
  /** Headers of every answer, gRPC's own included. */
  readonly answerHeaders: OutgoingHttpHeaders;
  readonly log?: { error(fields: object, message: string): void };
}

/** The kinds of methods that this path serves. */
export type ServedMethod = DescMethodUnary | DescMethodServerStreaming;

/** What is known of a call before its body is read. */
export interface GrpcRequest {
  readonly method: ServedMethod;
  readonly headers: IncomingHttpHeaders;
  readonly form: ProtocolVersion;
  /** Of the client, proxies that are believed aside. */
  readonly remoteAddress: string;
  /** `grpc-encoding`; identity or gzip. */
  readonly encoding: string;
  /** Milliseconds from now; undefined: no deadline. */
  readonly timeout: number | undefined;
}

const BODY_TIMEOUT_MS = 30_000;
/** Why the signal of an answered call aborts. Made once: without a reason each abort makes a DOMException, stack and all. */
const OVER = new BatonError("Canceled", "the call is over");

/**
 * The calls that are open, by stream. Node keeps a closed stream until the next full collection of garbage, and all that
 * its listeners reach: listeners that every stream shares reach nothing of its call.
 */
const calls = new Map<ServerHttp2Stream, GrpcCall>();

function onData(this: ServerHttp2Stream, chunk: Buffer): void {
  calls.get(this)?.body.push(chunk);
}

function onEnd(this: ServerHttp2Stream): void {
  calls.get(this)?.body.end();
}

function onClose(this: ServerHttp2Stream): void {
  const call = calls.get(this);
  calls.delete(this);
  call?.closed();
}

/** The client reset the stream: `close` follows, and there is nobody to tell. */
function onError(): void {}

/** Serves a call. */
export function serveCall(stream: ServerHttp2Stream, request: GrpcRequest, options: GrpcCallOptions): void {
  const call = new GrpcCall(stream, request, options);
  calls.set(stream, call);
  stream.on("error", onError);
  stream.on("close", onClose);
  stream.on("data", onData);
  stream.on("end", onEnd);
  void call.run();
}

/** Gives the value of a header; of one that is repeated, all its values. */
export function headerText(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** One call, as its stream and the dispatcher see it. */
class GrpcCall implements RequestMeta {
  readonly transport = "grpc";
  readonly requestId = randomUUID();
  readonly form: ProtocolVersion;
  readonly remoteAddress: string;
  readonly deadlineAt?: number;
  readonly body: RequestBody;
  readonly #request: GrpcRequest;
  readonly #options: GrpcCallOptions;
  readonly #reply: GrpcReply;
  readonly #deadline: NodeJS.Timeout | undefined;
  #caller: Caller | undefined;
  /** Made when a handler asks for its signal: most calls are over before anybody would. */
  #abort: AbortController | undefined;
  #cut: BatonError | undefined;
  #over = false;
  #writing = false;
  /** Of a streaming call that has begun. */
  #items: AsyncIterator<StreamItem<Message>> | undefined;
  #trailers: (() => Readonly<Record<string, string>>) | undefined;

  constructor(stream: ServerHttp2Stream, request: GrpcRequest, options: GrpcCallOptions) {
    this.form = request.form;
    this.remoteAddress = request.remoteAddress;
    this.#request = request;
    this.#options = options;
    this.#reply = new GrpcReply(stream, options.answerHeaders, options.stallMs);
    const { timeout } = request;
    if (timeout !== undefined) {
      this.deadlineAt = Date.now() + timeout;
      const late = () =>
        this.#stop(new BatonError("DeadlineExceeded", "the deadline of the call has passed"));
      this.#deadline = setTimeout(late, timeout);
    }
    this.body = new RequestBody(options.readMaxBytes, options.bodyTimeoutMs ?? BODY_TIMEOUT_MS);
  }

  header(name: string): string | undefined {
    return headerText(this.#request.headers, name);
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#cut !== undefined) this.#abort.abort(this.#cut);
    }
    return this.#abort.signal;
  }

  async run(): Promise<void> {
    try {
      await this.#serve();
    } catch (thrown) {
      if (!this.#over) this.#fail(BatonError.from(thrown));
    }
  }

  /** The stream is no more. */
  closed(): void {
    this.body.drop();
    if (this.#over) this.#abort?.abort(OVER);
    else this.#stop(new BatonError("Canceled", "the call was canceled"));
  }

  /** After each wait the call may be over; what comes then is for nobody. */
  async #serve(): Promise<void> {
    const { dispatcher, readMaxBytes } = this.#options;
    const { method, encoding } = this.#request;
    // A refusal of the credential must not wait for the body.
    const known = dispatcher.authenticate(this);
    const caller = known instanceof Promise ? await known : known;
    this.#caller = caller;
    const frame = readFrame(await this.body.whole(), readMaxBytes);
    const data = frame.compressed ? await inflate(frame, encoding, readMaxBytes) : frame.data;
    if (this.#over) return;
    const request = parse(method, data);
    if (method.methodKind === "unary") {
      const answer = await dispatcher.unary(method, request, this, caller);
      if (this.#over) return;
      const written = writeFrame(method.output, answer.message, false);
      this.#reply.unary(answer.headers, written, answer.trailers?.());
      this.#end();
      return;
    }
    const { items, headers, trailers } = await dispatcher.stream(method, request, this, caller);
    this.#items = items[Symbol.asyncIterator]();
    if (this.#over) {
      this.#letGo();
      return;
    }
    this.#trailers = trailers;
    this.#reply.start(headers);
    await this.#send(method, this.#items);
    if (this.#over) return;
    this.#reply.finish(trailers?.());
    this.#end();
  }

  async #send(method: DescMethodServerStreaming, items: AsyncIterator<StreamItem<Message>>): Promise<void> {
    for (;;) {
      const next = await items.next();
      if (this.#over || next.done === true) return;
      const written = this.#reply.write(writeFrame(method.output, next.value.message, true));
      if (written === undefined) continue;
      this.#writing = true;
      await written;
      this.#writing = false;
      if (this.#cut !== undefined) throw this.#cut;
    }
  }

  /** Ends the call at once, whatever it waits for; but a message that is being written goes out whole. */
  #stop(reason: BatonError): void {
    if (this.#over || this.#cut !== undefined) return;
    this.#cut = reason;
    this.#abort?.abort(reason);
    if (!this.#writing) this.#fail(reason);
  }

  #fail(error: BatonError): void {
    this.#end();
    const { dispatcher, log } = this.#options;
    if (error.kind === "Internal" && error.cause !== undefined) {
      const { parent, name } = this.#request.method;
      log?.error({ err: error.cause, service: parent.typeName, method: name }, "a handler failed");
    }
    const trailers = { ...this.#trailers?.(), "x-request-id": this.requestId };
    this.#reply.fail(dispatcher.rpcError(error, this.#caller), trailers);
  }

  #end(): void {
    this.#over = true;
    clearTimeout(this.#deadline);
    this.#letGo();
  }

  /** Not awaited: a generator that is waiting ends when its own wait does. */
  #letGo(): void {
    this.#items?.return?.().catch(() => {});
  }
}

function parse(method: ServedMethod, data: Buffer): Message {
  try {
    // Unknown fields are ignored, not kept: they would come back in answers that have no such field (A2A-5, A2A-122).
    return fromBinary(method.input, data, { readUnknownFields: false });
  } catch (cause) {
    throw new BatonError("ParseError", `the message is not a valid ${method.input.typeName}`, { cause });
  }
}
