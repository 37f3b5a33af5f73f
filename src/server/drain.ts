import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";

/** How long a client may take to acknowledge the first GOAWAY before the second is sent all the same. */
const ACK_MS = 1_000;

/**
 * A whole GOAWAY frame: length 8, type 7, no flags, stream 0; then the largest stream id, which refuses nothing, and
 * NO_ERROR (RFC 9113, 6.8).
 */
const SHUTDOWN_NOTICE = Buffer.from("0000080700000000007fffffff00000000", "hex");

/**
 * Retires an HTTP/2 session without failing a call: two GOAWAY frames, then the session closes by itself after its
 * last stream. Node's own `server.close()` does neither on an open session (G1).
 *
 * The first GOAWAY tells the client to open no more streams here. The ping behind it comes back once the client has
 * read that, and whatever the client sent before has arrived by then and is served; the second GOAWAY then names the
 * last stream.
 *
 * The first frame is written past nghttp2, straight to the `socket` of the session: nghttp2 takes any GOAWAY of Node's
 * API for the final one, drops the streams that cross it and stops a session that has none. Node hands nghttp2's
 * output to the socket in whole frames, so ours cannot land inside another.
 */
export async function retireSession(session: ServerHttp2Session, socket: Socket): Promise<void> {
  if (session.closed || session.destroyed || !socket.writable) return;
  socket.write(SHUTDOWN_NOTICE);
  await acknowledged(session);
  if (session.closed || session.destroyed) return;
  // Sends GOAWAY with the id of the last stream that reached us, and ends the session when the streams are done.
  session.close();
}

function acknowledged(session: ServerHttp2Session): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ACK_MS);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    session.once("close", done);
    try {
      // False when too many pings are outstanding; the timer then decides.
      session.ping(done);
    } catch {
      done();
    }
  });
}

/** Responses that have begun and not ended; what a drain waits for. */
export class InFlight {
  readonly #open = new Set<object>();
  #idle: (() => void)[] = [];

  get size(): number {
    return this.#open.size;
  }

  add(response: { once(event: "close", listener: () => void): unknown }): void {
    this.#open.add(response);
    response.once("close", () => {
      this.#open.delete(response);
      if (this.#open.size > 0) return;
      const waiting = this.#idle;
      this.#idle = [];
      for (const resolve of waiting) resolve();
    });
  }

  values(): Iterable<object> {
    return this.#open;
  }

  /** Resolves when nothing is in flight, at the latest after `ms`. */
  async settled(ms: number): Promise<void> {
    if (this.#open.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
  }
}
