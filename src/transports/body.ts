import type { Readable } from "node:stream";
import { BatonError } from "../domain/errors.ts";
import type { CallRequest, HttpRequest } from "./http-handler.ts";

/** Largest request body, in bytes (SB-53). */
export const DEFAULT_MAX_BODY_BYTES = 262_144;

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a whole body as UTF-8 text. A body over the limit is refused with PayloadTooLarge before any of it is parsed: at
 * once where its length is declared, else as soon as it passes the limit (SB-53). Bytes that are not UTF-8 are a
 * ParseError (A2A-128), a client that goes away is Canceled.
 */
export async function readBody(request: CallRequest, limit: number): Promise<string> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > limit) throw tooLarge(limit);
  if ("body" in request) return request.body;
  const bytes = await collect(request, limit);
  try {
    return decodeBody(bytes);
  } catch (cause) {
    throw new BatonError("ParseError", "the body is not valid UTF-8", { cause });
  }
}

/** Throws a TypeError for what is not UTF-8. */
export function decodeBody(bytes: Uint8Array): string {
  return UTF8.decode(bytes);
}

function tooLarge(limit: number): BatonError {
  return new BatonError("PayloadTooLarge", `the body is larger than ${limit} bytes`, {
    metadata: { maxBytes: String(limit) },
  });
}

/** A body on its way in, on its request. The listeners are the same for all requests, and find it there. */
interface Incoming {
  readonly limit: number;
  readonly chunks: Buffer[];
  size: number;
  resolve(bytes: Buffer): void;
  reject(error: BatonError): void;
}

const INCOMING = Symbol("incoming body");

/** By the union of requests no method can be called that is the same on both; this is what they have in common. */
type Receiving = Readable & { [INCOMING]?: Incoming | undefined };

/** By events and not by iteration: leaving an iteration early destroys the connection, and with it the answer. */
function collect(request: HttpRequest, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const receiving: Receiving = request;
    receiving[INCOMING] = { limit, chunks: [], size: 0, resolve, reject };
    // They stay, and do nothing once the body is in: taking them off one by one costs more than they do.
    receiving.on("data", onData);
    receiving.on("end", onEnd);
    receiving.on("error", onGone);
    receiving.on("aborted", onGone);
    receiving.on("close", onGone);
  });
}

/** The body that still comes in; with its last event nothing of it is kept, since a stream may go on for hours. */
function finished(request: Receiving): Incoming | undefined {
  const body = request[INCOMING];
  request[INCOMING] = undefined;
  return body;
}

function onData(this: Receiving, chunk: Buffer): void {
  const body = this[INCOMING];
  if (body === undefined) return;
  body.size += chunk.length;
  if (body.size <= body.limit) {
    body.chunks.push(chunk);
    return;
  }
  finished(this);
  this.pause();
  body.reject(tooLarge(body.limit));
}

function onEnd(this: Receiving): void {
  const body = finished(this);
  if (body === undefined) return;
  const { chunks, size, resolve } = body;
  const [only] = chunks;
  resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size));
}

function onGone(this: Receiving): void {
  finished(this)?.reject(new BatonError("Canceled", "the client went away"));
}
