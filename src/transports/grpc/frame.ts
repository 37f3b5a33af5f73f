import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { encode } from "../../domain/encoded.ts";
import { BatonError } from "../../domain/errors.ts";

/** Of a frame: flags and length. */
export const HEAD_BYTES = 5;
const COMPRESSED = 1;
const gunzipAsync = promisify(gunzip);

/** The one message of a unary or server-streaming request. Not yet decompressed. */
export interface RequestFrame {
  readonly compressed: boolean;
  readonly data: Buffer;
}

/** Cuts the message out of a whole request body; the same for every protocol that puts a head before each message. */
export function readFrame(body: Buffer, maxBytes: number): RequestFrame {
  if (body.length === 0) throw new BatonError("MessageCount", "the request holds no message");
  if (body.length < HEAD_BYTES) throw cutShort();
  const flags = body.readUInt8(0);
  const length = body.readUInt32BE(1);
  if (length > maxBytes) throw tooLarge(maxBytes);
  if (body.length < HEAD_BYTES + length) throw cutShort();
  if (body.length > HEAD_BYTES + length) {
    throw new BatonError("MessageCount", "the request holds more than one message");
  }
  if ((flags & ~COMPRESSED) !== 0) throw new BatonError("InvalidRequest", "unknown envelope flags");
  return { compressed: (flags & COMPRESSED) !== 0, data: body.subarray(HEAD_BYTES) };
}

/** Undoes gzip, the one compression that this path takes besides none. A bomb ends at `maxBytes`. */
export async function inflate(frame: RequestFrame, encoding: string, maxBytes: number): Promise<Buffer> {
  if (!frame.compressed) return frame.data;
  if (encoding !== "gzip") throw unnamedCompression();
  // Nothing compresses to nothing: some clients mark an empty message as compressed all the same.
  if (frame.data.length === 0) return frame.data;
  try {
    return await gunzipAsync(frame.data, { maxOutputLength: maxBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(maxBytes);
    throw new BatonError("ParseError", "the message cannot be decompressed", { cause });
  }
}

export function unnamedCompression(): BatonError {
  return new BatonError(
    "UnnamedCompression",
    "the message is marked as compressed, but no encoding is named",
  );
}

export function tooLarge(maxBytes: number): BatonError {
  return new BatonError("PayloadTooLarge", `the message is larger than ${maxBytes} bytes`);
}

function cutShort(): BatonError {
  return new BatonError("InvalidRequest", "the message is cut short");
}

/** Frames of messages that several streams share: an event is serialized once, however many watch it. */
const frames = new WeakMap<Message, Buffer>();

/** The message as a gRPC frame, uncompressed. `shared`: the message will be sent to others as well, and never changes. */
export function writeFrame(desc: DescMessage, message: Message, shared: boolean): Buffer {
  const known = shared ? frames.get(message) : undefined;
  if (known !== undefined) return known;
  const bytes = encode(desc, message);
  const frame = Buffer.allocUnsafe(HEAD_BYTES + bytes.length);
  frame.writeUInt8(0, 0);
  frame.writeUInt32BE(bytes.length, 1);
  frame.set(bytes, HEAD_BYTES);
  if (shared) frames.set(message, frame);
  return frame;
}
