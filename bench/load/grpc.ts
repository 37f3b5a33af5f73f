/** gRPC on the raw HTTP/2 client. */
import {
  create,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { encodeHeaders, type RawHttp2 } from "./raw-http2.ts";

/** Flags and length before a message. */
export const GRPC_HEAD_BYTES = 5;

export function grpcHeaders(path: string, credential: string): Buffer {
  return encodeHeaders({
    ":method": "POST",
    ":scheme": "http",
    ":path": path,
    ":authority": "127.0.0.1",
    "content-type": "application/grpc",
    te: "trailers",
    "a2a-version": "1.0",
    authorization: `Bearer ${credential}`,
  });
}

export function grpcFrame(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(GRPC_HEAD_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, GRPC_HEAD_BYTES);
  return frame;
}

/** A method as a function of its request. */
export function grpcMethod<M extends DescMethodUnary>(connection: RawHttp2, method: M, credential: string) {
  const headers = grpcHeaders(`/${method.parent.typeName}/${method.name}`, credential);
  return async (init: MessageInitShape<M["input"]>) => {
    const body = grpcFrame(toBinary(method.input, create(method.input, init)));
    return fromBinary(
      method.output as M["output"],
      (await connection.call(headers, body)).subarray(GRPC_HEAD_BYTES),
    );
  };
}
