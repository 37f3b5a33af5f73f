import { BatonError } from "../domain/errors.ts";
import type { HttpRequest } from "./http-handler.ts";

/** Largest request body, in bytes (SB-53). */
export const DEFAULT_MAX_BODY_BYTES = 262_144;

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a whole body as UTF-8 text. A body over the limit is refused with PayloadTooLarge before any of it is parsed: at
 * once where its length is declared, else as soon as it passes the limit (SB-53). Bytes that are not UTF-8 are a
 * ParseError (A2A-128), a client that goes away is Canceled.
 */
export async function readBody(request: HttpRequest, limit: number): Promise<string> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > limit) throw tooLarge(limit);
  const bytes = await collect(request, limit);
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw new BatonError("ParseError", "the body is not valid UTF-8", { cause });
  }
}

function tooLarge(limit: number): BatonError {
  return new BatonError("PayloadTooLarge", `the body is larger than ${limit} bytes`, {
    metadata: { maxBytes: String(limit) },
  });
}

/** By events and not by iteration: leaving an iteration early destroys the connection, and with it the answer. */
function collect(request: HttpRequest, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let settled = false;
    const stop = (): void => {
      settled = true;
      request.off("data", onData);
      request.off("end", onEnd);
      request.off("error", onGone);
      request.off("aborted", onGone);
      request.off("close", onGone);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= limit) {
        chunks.push(chunk);
        return;
      }
      stop();
      request.pause();
      reject(tooLarge(limit));
    };
    const onEnd = (): void => {
      // The listeners go with the request: taking them off one by one costs more than they do.
      settled = true;
      const [only] = chunks;
      resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size));
    };
    const onGone = (): void => {
      if (settled) return;
      stop();
      reject(new BatonError("Canceled", "the client went away"));
    };
    request.on("data", onData);
    request.on("end", onEnd);
    request.on("error", onGone);
    request.on("aborted", onGone);
    request.on("close", onGone);
  });
}
