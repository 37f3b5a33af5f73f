import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { toBinary } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import type { RpcError } from "../../service/answer.ts";
import type { ResponseHeaders } from "../../service/call.ts";
import { SLICE_BYTES, STALL_MS } from "../stall.ts";
import { encodeMessage } from "./message-text.ts";

const CONTENT_TYPE = "application/grpc+proto";
const ACCEPT_ENCODING = "identity,gzip,br";

const OK: OutgoingHttpHeaders = { "grpc-status": "0" };

/** The headers of every answer, from those that the gateway has besides. */
export function answerHeaders(base: OutgoingHttpHeaders): OutgoingHttpHeaders {
  return {
    ":status": 200,
    ...base,
    "content-type": CONTENT_TYPE,
    "grpc-accept-encoding": ACCEPT_ENCODING,
  };
}

/** Answers one call on its HTTP/2 stream. `base`: what {@link answerHeaders} made. */
export class GrpcReply {
  readonly #stream: ServerHttp2Stream;
  readonly #base: OutgoingHttpHeaders;
  readonly #stallMs: number;
  #trailers = OK;
  #ended = false;

  /** `stallMs`: how long the client may take nothing of the answer before it is cut. */
  constructor(stream: ServerHttp2Stream, base: OutgoingHttpHeaders, stallMs: number = STALL_MS) {
    this.#stream = stream;
    this.#base = base;
    this.#stallMs = stallMs;
  }

  /** One message and OK, in as few frames as HTTP/2 allows. */
  unary(headers: ResponseHeaders, frame: Buffer, trailers?: OutgoingHttpHeaders): void {
    if (!this.#begin(headers)) return;
    this.#trailers = trailers === undefined ? OK : { ...trailers, ...OK };
    this.#ended = true;
    this.#stream.end(frame);
  }

  /** Begins a stream of messages. */
  start(headers: ResponseHeaders): void {
    this.#begin(headers);
  }

  /**
   * Writes a message. Undefined when the client is ready for more, else a promise that resolves when it is, or is cut
   * because it never was (SB-49).
   */
  write(frame: Buffer): Promise<void> | undefined {
    if (frame.length > SLICE_BYTES) return this.#writeSlices(frame);
    return this.#write(frame) ? undefined : this.#drained();
  }

  async #writeSlices(frame: Buffer): Promise<void> {
    for (let from = 0; from < frame.length; from += SLICE_BYTES) {
      if (!this.#write(frame.subarray(from, from + SLICE_BYTES))) await this.#drained();
    }
  }

  #write(slice: Buffer): boolean {
    return this.#stream.destroyed || this.#stream.write(slice);
  }

  #drained(): Promise<void> {
    const stream = this.#stream;
    return new Promise((resolve) => {
      const timer = setTimeout(() => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM), this.#stallMs);
      const done = () => {
        clearTimeout(timer);
        stream.off("drain", done);
        stream.off("close", done);
        resolve();
      };
      stream.on("drain", done);
      stream.on("close", done);
    });
  }

  /** Ends a stream with OK. */
  finish(trailers?: OutgoingHttpHeaders): void {
    this.#end({ ...trailers, ...OK });
  }

  /** Ends the call with an error: in the trailers, which are the headers where nothing was sent before. */
  fail({ status, metadata }: RpcError, trailers: OutgoingHttpHeaders = {}): void {
    this.#end({
      ...trailers,
      ...metadata,
      "grpc-status": String(status.code),
      "grpc-message": encodeMessage(status.message),
      "grpc-status-details-bin": base64Encode(toBinary(StatusSchema, status), "std_raw"),
    });
  }

  #begin(headers: ResponseHeaders): boolean {
    const stream = this.#stream;
    if (stream.destroyed || stream.headersSent) return false;
    const answer = { ...this.#base };
    for (const [name, value] of headers) answer[name] = value;
    stream.on("wantTrailers", () => stream.sendTrailers(this.#trailers));
    stream.respond(answer, { waitForTrailers: true });
    return true;
  }

  #end(trailers: OutgoingHttpHeaders): void {
    const stream = this.#stream;
    if (this.#ended || stream.destroyed) return;
    this.#ended = true;
    if (!stream.headersSent) {
      stream.respond({ ...this.#base, ...trailers }, { endStream: true });
      // What the client still sends is of no use; NO_ERROR says that the answer stands.
      if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
      return;
    }
    this.#trailers = trailers;
    stream.end();
  }
}
