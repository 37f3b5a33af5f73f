import { promisify } from "node:util";
import { brotliDecompress, gunzip } from "node:zlib";
import { type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import { BatonError } from "../../domain/errors.ts";
import { readFrame, tooLarge, unnamedCompression } from "../grpc/frame.ts";
import { parseJson, readMessage } from "../json/read.ts";
import type { Wire } from "./wire.ts";

/** Q24, SB-53: 256 KiB on every transport. */
export const DEFAULT_READ_MAX_BYTES = 262_144;

const ENVELOPE_HEAD = 5;

const DECOMPRESS = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
} as const;

type Encoding = keyof typeof DECOMPRESS;

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
  const encoding = encodingOf(request.header.get("content-encoding"));
  return encoding === undefined ? data : decompress(data, encoding, request.maxBytes);
}

async function singleEnvelope(request: RequestBody): Promise<Uint8Array> {
  const bytes = await collect(request, request.maxBytes + ENVELOPE_HEAD);
  const { compressed, data } = readFrame(bytes, request.maxBytes);
  const name = request.wire.protocol === "connect" ? "connect-content-encoding" : "grpc-encoding";
  const encoding = encodingOf(request.header.get(name));
  if (!compressed) return data;
  if (encoding === undefined) throw unnamedCompression();
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

/** The compression that a header names, whether or not the message uses it; undefined for none. */
function encodingOf(header: string | null): Encoding | undefined {
  if (header === null || header === "" || header === "identity") return undefined;
  if (Object.hasOwn(DECOMPRESS, header)) return header as Encoding;
  throw new BatonError("UnknownCompression", "this compression is not supported");
}

async function decompress(data: Uint8Array, encoding: Encoding, maxBytes: number): Promise<Uint8Array> {
  // Nothing compresses to nothing: some clients mark an empty message as compressed all the same.
  if (data.length === 0) return data;
  try {
    return await DECOMPRESS[encoding](data, { maxOutputLength: maxBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(maxBytes);
    throw new BatonError("ParseError", "the message cannot be decompressed", { cause });
  }
}

function utf8(data: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch (cause) {
    throw new BatonError("ParseError", "the body is not valid UTF-8", { cause });
  }
}
