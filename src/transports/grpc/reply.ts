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

/** Answers one call on its HTTP/2 stream. `base`: headers of every answer, such as the security headers. */
export class GrpcReply {
  readonly #stream: ServerHttp2Stream;
  readonly #base: OutgoingHttpHeaders;
  readonly #stallMs: number;
  #trailers: OutgoingHttpHeaders = {};
  #ended = false;

  /** `stallMs`: how long the client may take nothing of the answer before it is cut. */
  constructor(stream: ServerHttp2Stream, base: OutgoingHttpHeaders, stallMs: number = STALL_MS) {
    this.#stream = stream;
    this.#base = base;
    this.#stallMs = stallMs;
  }

  /** One message and OK, in as few frames as HTTP/2 allows. */
  unary(headers: ResponseHeaders, frame: Buffer, trailers: OutgoingHttpHeaders = {}): void {
    if (!this.#begin(headers)) return;
    this.#trailers = { ...trailers, "grpc-status": "0" };
    this.#ended = true;
    this.#stream.end(frame);
  }

  /** Begins a stream of messages. */
  start(headers: ResponseHeaders): void {
    this.#begin(headers);
  }

  /** Writes a message; resolves when the client is ready for more, or is cut because it never was (SB-49). */
  async write(frame: Buffer): Promise<void> {
    let from = 0;
    for (; frame.length - from > SLICE_BYTES; from += SLICE_BYTES) {
      await this.#write(frame.subarray(from, from + SLICE_BYTES));
    }
    await this.#write(from === 0 ? frame : frame.subarray(from));
  }

  async #write(slice: Buffer): Promise<void> {
    const stream = this.#stream;
    if (stream.destroyed || stream.write(slice)) return;
    await new Promise<void>((resolve) => {
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
  finish(trailers: OutgoingHttpHeaders = {}): void {
    this.#end({ ...trailers, "grpc-status": "0" });
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
    const answer: OutgoingHttpHeaders = {
      ":status": 200,
      ...this.#base,
      "content-type": CONTENT_TYPE,
      "grpc-accept-encoding": ACCEPT_ENCODING,
    };
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
      const answer = { ":status": 200, ...this.#base, "content-type": CONTENT_TYPE, ...trailers };
      stream.respond({ ...answer, "grpc-accept-encoding": ACCEPT_ENCODING }, { endStream: true });
      // What the client still sends is of no use; NO_ERROR says that the answer stands.
      if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
      return;
    }
    this.#trailers = trailers;
    stream.end();
  }
}
