import type { Socket } from "node:net";
import type { LeanRequest } from "../../transports/http-handler.ts";
import { LeanAnswer, type Out } from "./answer.ts";
import type { RequestReader } from "./read-request.ts";

/** What the connections of one listener have in common. */
export interface Host {
  /** How long a connection may stay silent before its first request, and between two, in milliseconds. */
  readonly firstMs: number;
  readonly idleMs: number;
  /** Each answer closes its connection. */
  readonly retiring: boolean;
  /** And so does the end of an answer that had said otherwise. */
  readonly draining: boolean;
  /** Whether this is the place to serve a request. */
  takes(request: LeanRequest): boolean;
  serve(request: LeanRequest, answer: LeanAnswer): void;
  /** Takes over the socket, paused, with its bytes put back. */
  leave(socket: Socket): void;
  /** Answers a connection that stayed silent from its begin. */
  late(socket: Socket): void;
  forget(connection: LeanConnection): void;
  /** Header lines of an answer, without the last line end. */
  connectionLines(): string;
}

/** What is kept of bytes that come while an answer is under way; the rest stays with the sender. */
const MAX_HELD = 65_536;
/** And in how many pieces, since one of a single byte takes some two hundred. */
const MAX_PIECES = 64;

/**
 * One HTTP/1.1 connection, for as long as each of its requests arrives at once and whole, after the answer to the one
 * before, and is one that is served here. With the first that is not it is left to Node's HTTP for good.
 */
export class LeanConnection implements Out {
  readonly #socket: Socket;
  readonly #reader: RequestReader;
  readonly #host: Host;
  /** Under way. */
  #answer: LeanAnswer | undefined;
  #hasServed = false;
  readonly #held: Buffer[] = [];
  #heldBytes = 0;
  #stalled: (() => void) | undefined;

  constructor(socket: Socket, reader: RequestReader, host: Host) {
    this.#socket = socket;
    this.#reader = reader;
    this.#host = host;
    socket.setTimeout(host.firstMs);
    socket.on("timeout", this.#onTimeout);
    socket.on("close", this.#onClose);
    socket.on("data", this.#onData);
  }

  /** Nothing is under way, and no first request is waited for. */
  get isIdle(): boolean {
    return this.#hasServed && this.#answer === undefined;
  }

  cut(): void {
    this.#socket.destroy();
  }

  connectionLines(): string {
    return this.#host.connectionLines();
  }

  write(text: string, encoding: "latin1" | "utf8"): void {
    this.#socket.write(text, encoding, this.#onWritten);
    if (this.#host.retiring) this.#socket.destroySoon();
  }

  watch(stallMs: number, stalled: () => void): void {
    this.#stalled = stalled;
    // Node counts bytes that go out as activity, of a large write, too.
    this.#socket.setTimeout(stallMs);
  }

  readonly #onData = (chunk: Buffer): void => {
    // Behind a request it means nothing (RFC 9112, 2.2). Node's HTTP would take it for the begin of a first request that
    // never comes.
    if (this.#hasServed && this.#heldBytes === 0 && isEmptyLine(chunk)) return;
    if (this.#answer !== undefined) {
      this.#hold(chunk);
      return;
    }
    // Ended by a drain: what a client sent before it saw that must not be done, since nobody would get the answer.
    if (!this.#socket.writable) return;
    const request = this.#reader.read(chunk, this.#socket);
    if (request === undefined || !this.#host.takes(request)) {
      this.#leave(chunk);
      return;
    }
    if (!this.#hasServed) {
      this.#hasServed = true;
      this.#socket.setTimeout(this.#host.idleMs);
    }
    this.#answer = new LeanAnswer(this);
    this.#host.serve(request, this.#answer);
  };

  #hold(chunk: Buffer): void {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes >= MAX_HELD || this.#held.length >= MAX_PIECES) this.#socket.pause();
  }

  readonly #onWritten = (error?: Error | null): void => {
    const answer = this.#answer;
    // A broken connection closes, and that tells the answer.
    if (answer === undefined || error) return;
    this.#answer = undefined;
    if (this.#stalled !== undefined) {
      this.#stalled = undefined;
      this.#socket.setTimeout(this.#host.idleMs);
    }
    answer.close(true);
    // Ended already where the answer said so.
    if (!this.#socket.writable) return;
    if (this.#host.draining) this.#socket.end();
    else if (this.#heldBytes > 0) this.#leave(Buffer.concat(this.#held));
  };

  readonly #onTimeout = (): void => {
    if (this.#answer !== undefined) this.#stalled?.();
    else if (this.#hasServed) this.#socket.destroy();
    else {
      this.#letGo();
      this.#host.late(this.#socket);
    }
  };

  readonly #onClose = (): void => {
    this.#host.forget(this);
    this.#answer?.close(false);
    this.#answer = undefined;
  };

  #leave(chunk: Buffer): void {
    this.#letGo();
    this.#socket.pause();
    this.#socket.unshift(chunk);
    this.#host.leave(this.#socket);
  }

  #letGo(): void {
    const socket = this.#socket;
    this.#host.forget(this);
    socket.setTimeout(0);
    socket.off("timeout", this.#onTimeout);
    socket.off("close", this.#onClose);
    socket.off("data", this.#onData);
  }
}

function isEmptyLine(chunk: Buffer): boolean {
  return chunk.length === 2 && chunk[0] === 0x0d && chunk[1] === 0x0a;
}
