import { promisify } from "node:util";
import { brotliDecompress, gunzip } from "node:zlib";
import { type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { BatonError } from "../../domain/errors.ts";
import { parseJson, readMessage } from "../json/read.ts";
import { toConnectError } from "./errors.ts";
import type { Wire } from "./wire.ts";

/** Q24, SB-53: 256 KiB on every transport. */
export const DEFAULT_READ_MAX_BYTES = 262_144;

const ENVELOPE_HEAD = 5;
const COMPRESSED = 0b1;

const DECOMPRESS = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
} as const;

/** What a client may compress its requests with; answers are never compressed (A2A-145). */
export const ACCEPTED_ENCODINGS = ["identity", ...Object.keys(DECOMPRESS)].join(",");

export interface RequestBody {
  readonly wire: Wire;
  readonly header: Headers;
  readonly body: AsyncIterable<Uint8Array>;
  /** Largest message in bytes, before and after decompression (SB-53). */
  readonly maxBytes: number;
}

/**
 * Reads the one message of a unary or server-streaming call. connect-es could do so too, but reports a malformed
 * message as INTERNAL with the text of the parser; here each fault has its row of the error table. Nothing is parsed
 * before the size is known to be right, and no more than `maxBytes` is ever held.
 */
export async function readRequestMessage(desc: DescMessage, request: RequestBody): Promise<Message> {
  const data = request.wire.enveloped ? await singleEnvelope(request) : await wholeBody(request);
  if (request.wire.json) return readMessage(desc, parseJson(utf8(data)).value);
  try {
    // Unknown fields are ignored, not kept: they would come back in answers that have no such field (A2A-5, A2A-122).
    return fromBinary(desc, data, { readUnknownFields: false });
  } catch (cause) {
    throw new BatonError("ParseError", `the message is not a valid ${desc.typeName}`, { cause });
  }
}

async function wholeBody(request: RequestBody): Promise<Uint8Array> {
  const data = await collect(request, request.maxBytes);
  return decompress(data, request.header.get("content-encoding"), request.maxBytes);
}

async function singleEnvelope(request: RequestBody): Promise<Uint8Array> {
  const bytes = await collect(request, request.maxBytes + ENVELOPE_HEAD);
  if (bytes.length === 0) throw new BatonError("InvalidRequest", "the request holds no message");
  if (bytes.length < ENVELOPE_HEAD) throw cutShort();
  const flags = bytes.readUInt8(0);
  const end = ENVELOPE_HEAD + bytes.readUInt32BE(1);
  if (end - ENVELOPE_HEAD > request.maxBytes) throw tooLarge(request.maxBytes);
  if (bytes.length < end) throw cutShort();
  if (bytes.length > end) throw new BatonError("InvalidRequest", "the request holds more than one message");
  if ((flags & ~COMPRESSED) !== 0) throw new BatonError("InvalidRequest", "unknown envelope flags");
  const data = bytes.subarray(ENVELOPE_HEAD);
  if ((flags & COMPRESSED) === 0) return data;
  const encoding = request.header.get(
    request.wire.protocol === "connect" ? "connect-content-encoding" : "grpc-encoding",
  );
  if (encoding === null || encoding === "identity") {
    throw new BatonError("InvalidRequest", "the message is marked as compressed, but no encoding is named");
  }
  return decompress(data, encoding, request.maxBytes);
}

async function collect({ header, body, maxBytes }: RequestBody, limit: number): Promise<Buffer> {
  if (Number(header.get("content-length") ?? 0) > limit) throw tooLarge(maxBytes);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

async function decompress(data: Uint8Array, encoding: string | null, maxBytes: number): Promise<Uint8Array> {
  if (encoding === null || encoding === "" || encoding === "identity" || data.length === 0) return data;
  if (!Object.hasOwn(DECOMPRESS, encoding)) throw unknownEncoding();
  try {
    return await DECOMPRESS[encoding as keyof typeof DECOMPRESS](data, { maxOutputLength: maxBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(maxBytes);
    throw new BatonError("ParseError", "the message cannot be decompressed", { cause });
  }
}

/** UNIMPLEMENTED, so that a client may choose another (gRPC compression rules). */
function unknownEncoding(): ConnectError {
  const error = new BatonError("InvalidRequest", "this compression is not supported");
  return toConnectError(error, undefined, Code.Unimplemented);
}

function utf8(data: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch (cause) {
    throw new BatonError("ParseError", "the body is not valid UTF-8", { cause });
  }
}

function cutShort(): BatonError {
  return new BatonError("InvalidRequest", "the message is cut short");
}

function tooLarge(maxBytes: number): BatonError {
  return new BatonError("PayloadTooLarge", `the message is larger than ${maxBytes} bytes`);
}
