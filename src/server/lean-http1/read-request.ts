import { isAscii } from "node:buffer";
import type { Socket } from "node:net";
import { decodeBody } from "../../transports/body.ts";
import type { LeanRequest } from "../../transports/http-handler.ts";
import { type Head, readHead } from "./read-head.ts";

export interface ReadLimits {
  /** Head and body together, in bytes. */
  readonly maxBytes: number;
  readonly maxHeaderBytes: number;
  readonly maxBodyBytes: number;
}

/** The longest head that is kept, in characters. */
const MAX_KEPT = 2048;

/** Reads the requests of one connection, whose heads are mostly the same. */
export class RequestReader {
  readonly #limits: ReadLimits;
  /** The last head and what it says. */
  #text = "";
  #head: Head | undefined;

  constructor(limits: ReadLimits) {
    this.#limits = limits;
  }

  /** Undefined: not one whole request of the simple form and nothing else. Nothing of it has been judged then. */
  read(chunk: Buffer, socket: Socket): LeanRequest | undefined {
    const { maxBytes, maxHeaderBytes, maxBodyBytes } = this.#limits;
    if (chunk.length > maxBytes) return undefined;
    const text = chunk.toString("latin1");
    const headEnd = text.indexOf("\r\n\r\n") + 2;
    if (headEnd < 2 || headEnd > maxHeaderBytes) return undefined;
    const head = this.#headOf(text, headEnd, chunk);
    const bodyAt = headEnd + 2;
    if (head === undefined || chunk.length !== bodyAt + head.bodyBytes) return undefined;
    if (head.bodyBytes > maxBodyBytes) return undefined;
    const body = head.bodyBytes === 0 ? "" : readText(chunk, text, bodyAt);
    if (body === undefined) return undefined;
    const { method, url, headers } = head;
    return { method, url, headers, socket, body };
  }

  #headOf(text: string, end: number, chunk: Buffer): Head | undefined {
    if (text.slice(0, end) === this.#text) return this.#head;
    // A text of its own, which keeps nothing of the body in memory.
    const own = chunk.toString("latin1", 0, end);
    const head = readHead(own);
    if (end > MAX_KEPT) return head;
    this.#text = own;
    this.#head = head;
    return head;
  }
}

/** Undefined for what is not UTF-8. */
function readText(chunk: Buffer, latin1: string, at: number): string | undefined {
  const bytes = chunk.subarray(at);
  if (isAscii(bytes)) return latin1.slice(at);
  try {
    return decodeBody(bytes);
  } catch {
    return undefined;
  }
}
