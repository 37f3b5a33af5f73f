/** Between Node's HTTP and the fetch types that the protocol library speaks. */
import { EVENT_STREAM } from "../content-type.ts";
import type { HttpRequest, HttpResponse } from "../http-handler.ts";
import { respond } from "../respond.ts";

/** All that the protocol library looks at. The credential is none of its business. */
const PASSED = ["accept", "content-type", "mcp-session-id", "mcp-protocol-version"];

/** A client that takes nothing for this long, in milliseconds, is cut off. */
const STALL_MS = 60_000;

/** The request without its body, which is read before. */
export function toFetchRequest(request: HttpRequest): Request {
  const headers = new Headers();
  for (const name of PASSED) {
    const value = request.headers[name];
    if (value !== undefined) headers.set(name, String(value));
  }
  return new Request("http://mcp.invalid/", { method: request.method ?? "GET", headers });
}

/** Sends an answer that is complete. */
export async function sendWhole(
  request: HttpRequest,
  response: HttpResponse,
  answer: Response,
  more: Iterable<readonly [string, string]>,
): Promise<void> {
  const contentType = answer.headers.get("content-type");
  const sessionId = answer.headers.get("mcp-session-id");
  respond(request, response, {
    status: answer.status,
    headers: [...more, ...(sessionId === null ? [] : [["mcp-session-id", sessionId] as const])],
    ...(contentType === null ? {} : { contentType, body: await answer.text() }),
  });
}

export interface StreamEnds {
  /** An event, not a comment, went to the client. */
  onTaken(): void;
  onClosed(): void;
}

/**
 * Sends a stream of events; each is one chunk of the body. The next chunk is taken only when the client took the one
 * before, so what piles up is counted by the session and not hidden in a socket.
 */
export async function sendStream(response: HttpResponse, answer: Response, ends: StreamEnds): Promise<void> {
  const reader = (answer.body ?? new ReadableStream<Uint8Array>()).getReader();
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  const gone = closed.then(() => undefined);
  try {
    if (response.destroyed) return;
    response.setHeader("content-type", EVENT_STREAM);
    response.setHeader("cache-control", "no-store, no-transform");
    response.setHeader("x-accel-buffering", "no");
    const sessionId = answer.headers.get("mcp-session-id");
    if (sessionId !== null) response.setHeader("mcp-session-id", sessionId);
    response.statusCode = 200;
    // Silence is normal on a stream: no idle timeout of the socket applies.
    response.setTimeout(0);
    // The client learns at once that its stream is open.
    if ("flushHeaders" in response) response.flushHeaders();
    else response.writeHead(200);
    for (;;) {
      const next = await Promise.race([reader.read(), gone]);
      if (next === undefined || next.done) break;
      if (!write(response, next.value) && !(await drained(response, closed))) break;
      if (next.value[0] !== COLON) ends.onTaken();
    }
    response.end();
  } finally {
    reader.cancel().catch(() => {});
    ends.onClosed();
  }
}

const COLON = 0x3a;

/** Both kinds of response take bytes; the union of their signatures does not say so. */
function write(response: HttpResponse, chunk: Uint8Array): boolean {
  return (response as { write(chunk: Uint8Array): boolean }).write(chunk);
}

/** True once the socket has room; false when the client is gone, or was cut off for taking nothing. */
async function drained(response: HttpResponse, closed: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const room = new Promise<boolean>((resolve) => response.once("drain", () => resolve(true)));
  const stalled = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => {
      response.destroy();
      resolve(false);
    }, STALL_MS);
  });
  try {
    return await Promise.race([room, stalled, closed.then(() => false)]);
  } finally {
    clearTimeout(timer);
  }
}
