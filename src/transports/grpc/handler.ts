/**
 * gRPC straight on HTTP/2 streams: unary and server-streaming calls, uncompressed or gzip. connect-es serves the rest
 * (transports/connect.ts), and everything when this path is switched off; the two answer alike. Handlers, limits and
 * errors are the dispatcher's on both.
 */
import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import {
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type Message,
} from "@bufbuild/protobuf";
import type { Caller } from "../../domain/caller.ts";
import { BatonError } from "../../domain/errors.ts";
import type { ProtocolVersion, RequestMeta } from "../../service/call.ts";
import type { Dispatcher } from "../../service/dispatcher.ts";
import type { Forwarded } from "../forwarded.ts";
import { inflate, readFrame, tooLarge, writeFrame } from "./frame.ts";
import { GrpcReply } from "./reply.ts";
import { timeoutMs } from "./timeout.ts";

/** Takes an HTTP/2 stream and answers true, or touches nothing and answers false. */
export type Http2StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean;

export interface GrpcHandlerOptions {
  readonly dispatcher: Dispatcher;
  /** Largest request message in bytes (SB-53, Q24). */
  readonly readMaxBytes: number;
  /** How long a client may take nothing of an answer before it is cut, in milliseconds; default 60,000 (SB-49). */
  readonly stallMs?: number;
  /** How long a request message may take to arrive, in milliseconds; default 30,000. */
  readonly bodyTimeoutMs?: number;
  /** Reads what proxies say; absent: they are not believed. */
  readonly forwarded?: Forwarded;
  /** Headers of every answer. */
  readonly baseHeaders: OutgoingHttpHeaders;
  readonly log?: { error(fields: object, message: string): void };
}

const GRPC = /^application\/grpc(?:\+proto)?(?:;|$)/;
const BODY_TIMEOUT_MS = 30_000;
/** Why the signal of an answered call aborts. Made once: without a reason each abort makes a DOMException, stack and all. */
const OVER = new BatonError("Canceled", "the call is over");

type Served = DescMethodUnary | DescMethodServerStreaming;

/** Serves the services that the dispatcher has at this moment; register them first. */
export function createGrpcHandler(options: GrpcHandlerOptions): Http2StreamHandler {
  const methods = new Map<string, Served>();
  for (const service of options.dispatcher.services) {
    for (const method of service.methods) {
      if (isServed(method)) methods.set(`/${service.typeName}/${method.name}`, method);
    }
  }
  return (stream, headers) => {
    if (headers[":method"] !== "POST" || !GRPC.test(headers["content-type"] ?? "")) return false;
    const method = methods.get(headers[":path"] ?? "");
    const encoding = text(headers, "grpc-encoding") ?? "identity";
    if (method === undefined || (encoding !== "identity" && encoding !== "gzip")) return false;
    const timeout = timeoutMs(text(headers, "grpc-timeout"));
    if (Number.isNaN(timeout)) return false;
    const call = new GrpcCall(stream, headers, method, options);
    void call.run(encoding, timeout);
    return true;
  };
}

function isServed(method: DescMethod): method is Served {
  return method.methodKind === "unary" || method.methodKind === "server_streaming";
}

function text(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** One call. */
class GrpcCall {
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #method: Served;
  readonly #options: GrpcHandlerOptions;
  readonly #reply: GrpcReply;
  readonly #requestId = randomUUID();
  /** Made when a handler asks for its signal: most calls are over before anybody would. */
  #abort: AbortController | undefined;
  #cut: BatonError | undefined;
  /** Told when the call is cut while somebody waits. */
  #onCut: ((reason: BatonError) => void) | undefined;
  #over = false;
  #trailers: (() => OutgoingHttpHeaders) | undefined;
  #caller: Caller | undefined;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    method: Served,
    options: GrpcHandlerOptions,
  ) {
    this.#stream = stream;
    this.#headers = headers;
    this.#method = method;
    this.#options = options;
    this.#reply = new GrpcReply(stream, options.baseHeaders, options.stallMs);
  }

  async run(encoding: string, timeout: number | undefined): Promise<void> {
    const stream = this.#stream;
    stream.on("error", () => {
      // The client reset the stream: `close` follows, and there is nobody to tell.
    });
    stream.once("close", () => {
      if (!this.#over) this.#stop(new BatonError("Canceled", "the call was canceled"));
      else this.#abort?.abort(OVER);
    });
    const timer =
      timeout === undefined
        ? undefined
        : setTimeout(
            () => this.#stop(new BatonError("DeadlineExceeded", "the deadline of the call has passed")),
            timeout,
          );
    try {
      await this.#serve(encoding, timeout);
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      this.#over = true;
      clearTimeout(timer);
    }
  }

  async #serve(encoding: string, timeout: number | undefined): Promise<void> {
    const { dispatcher, readMaxBytes } = this.#options;
    const method = this.#method;
    const meta = this.#meta(timeout);
    const body = this.#read(readMaxBytes);
    // A refusal of the credential must not wait for the body, nor a broken body go unhandled meanwhile.
    body.catch(() => {});
    const known = dispatcher.authenticate(meta);
    const caller = known instanceof Promise ? await this.#whileOpen(known) : known;
    this.#caller = caller;
    const frame = readFrame(await this.#whileOpen(body), readMaxBytes);
    const data = frame.compressed ? await inflate(frame, encoding, readMaxBytes) : frame.data;
    let request: Message;
    try {
      // Unknown fields are ignored, not kept: they would come back in answers that have no such field (A2A-5, A2A-122).
      request = fromBinary(method.input, data, { readUnknownFields: false });
    } catch (cause) {
      throw new BatonError("ParseError", `the message is not a valid ${method.input.typeName}`, { cause });
    }
    if (method.methodKind === "unary") {
      const answer = await this.#whileOpen(dispatcher.unary(method, request, meta, caller));
      const frame = writeFrame(method.output, answer.message, false);
      this.#reply.unary(answer.headers, frame, answer.trailers?.());
      return;
    }
    const started = dispatcher.stream(method, request, meta, caller);
    const { items, headers, trailers } = await this.#whileOpen(started, ({ items: late }) => {
      late[Symbol.asyncIterator]().return?.(undefined);
    });
    this.#trailers = trailers;
    this.#reply.start(headers);
    const iterator = items[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await this.#whileOpen(iterator.next());
        if (next.done === true) break;
        await this.#reply.write(writeFrame(method.output, next.value.message, true));
      }
      this.#reply.finish(trailers?.());
    } finally {
      // Not awaited: a generator that is waiting ends when its own wait does.
      iterator.return?.().catch(() => {});
    }
  }

  #meta(timeout: number | undefined): RequestMeta {
    const headers = this.#headers;
    const peer = this.#stream.session?.socket.remoteAddress ?? "";
    const { forwarded } = this.#options;
    const form: ProtocolVersion = this.#method.parent.file.proto.package === "a2a.v1" ? "0.3" : "1.0";
    const signalOf = () => this.#signal();
    return {
      requestId: this.#requestId,
      transport: "grpc",
      form,
      header: (name) => text(headers, name),
      remoteAddress: forwarded?.client(peer, text(headers, "x-forwarded-for") ?? "") ?? peer,
      get signal() {
        return signalOf();
      },
      ...(timeout === undefined ? {} : { deadlineAt: Date.now() + timeout }),
    };
  }

  /** Collects the body; nothing is parsed before its size is known to be right. */
  #read(maxBytes: number): Promise<Buffer> {
    const stream = this.#stream;
    const limit = maxBytes + 5;
    const chunks: Buffer[] = [];
    let size = 0;
    return new Promise((resolve, reject) => {
      const late = () => reject(new BatonError("DeadlineExceeded", "the request took too long to arrive"));
      const timer = setTimeout(late, this.#options.bodyTimeoutMs ?? BODY_TIMEOUT_MS);
      stream.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > limit) {
          clearTimeout(timer);
          reject(tooLarge(maxBytes));
          return;
        }
        chunks.push(chunk);
      });
      stream.once("end", () => {
        clearTimeout(timer);
        resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size));
      });
      stream.once("close", () => clearTimeout(timer));
    });
  }

  #signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#cut !== undefined) this.#abort.abort(this.#cut);
    }
    return this.#abort.signal;
  }

  #stop(reason: BatonError): void {
    if (this.#cut !== undefined) return;
    this.#cut = reason;
    this.#abort?.abort(reason);
    this.#onCut?.(reason);
  }

  /**
   * Waits for `work`, but no longer than the call lasts; what comes later is given to `late`. One thing is waited for at a
   * time.
   */
  #whileOpen<T>(work: Promise<T>, late?: (result: T) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#onCut = reject;
      if (this.#cut !== undefined) reject(this.#cut);
      work.then((result) => {
        if (this.#cut !== undefined) late?.(result);
        resolve(result);
      }, reject);
    });
  }

  #fail(thrown: unknown): void {
    let error = BatonError.from(thrown);
    // What a handler throws because its signal fired is told by the reason of the signal.
    if (this.#cut !== undefined && error.kind === "Canceled") error = this.#cut;
    if (error.kind === "Internal" && error.cause !== undefined) {
      const { parent, name } = this.#method;
      this.#options.log?.error(
        { err: error.cause, service: parent.typeName, method: name },
        "a handler failed",
      );
    }
    const trailers = { ...this.#trailers?.(), "x-request-id": this.#requestId };
    this.#reply.fail(this.#options.dispatcher.rpcError(error, this.#caller), trailers);
  }
}
