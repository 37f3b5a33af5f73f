/** An HTTP/1.1 client that costs next to nothing, so that the server is what is measured. */
import type { Socket } from "node:net";
import { connectRaw } from "./raw-socket.ts";
import { promised, type Taker } from "./taker.ts";

const HEAD_END = "\r\n\r\n";

/** The framing of an answer, by which the next one like it is told without a search. */
interface Frame {
  readonly length: number;
  /** The head's line with the length of the body, and where it is. */
  readonly line: Buffer;
  readonly lineAt: number;
}

/** One keep-alive connection; requests that are not waited for are pipelined. Understands `Content-Length`, no chunks. */
export class RawHttp1 {
  #socket: Socket | undefined;
  readonly #pending: Taker[] = [];
  /** What has come of an answer that is not whole. */
  #rest: Buffer | undefined;
  #last: Frame | undefined;

  static async connect(port: number): Promise<RawHttp1> {
    const client = new RawHttp1();
    client.#socket = await connectRaw(port, {
      read: (bytes, length) => client.#read(bytes, length),
      closed: () => client.#fail(new Error("the connection was closed")),
    });
    return client;
  }

  /** Sends a whole request; the taker gets the whole response, head and body. */
  send(request: Buffer, taker: Taker): void {
    if (this.#socket === undefined || this.#socket.destroyed) {
      setImmediate(() => taker.failed(new Error("the connection was closed")));
      return;
    }
    this.#pending.push(taker);
    this.#socket.write(request);
  }

  call(request: Buffer): Promise<Buffer> {
    return promised((taker) => this.send(request, taker));
  }

  close(): void {
    this.#pending.length = 0;
    this.#socket?.destroy();
  }

  #read(bytes: Buffer, length: number): void {
    if (this.#rest === undefined && this.#isLikeLast(bytes, length)) {
      this.#pending.shift()?.answered(bytes, 0, length);
      return;
    }
    const fresh = bytes.subarray(0, length);
    let left = this.#rest === undefined ? Buffer.from(fresh) : Buffer.concat([this.#rest, fresh]);
    for (let frame = this.#frameOf(left); frame !== undefined; frame = this.#frameOf(left)) {
      this.#last = frame;
      this.#pending.shift()?.answered(left, 0, frame.length);
      left = left.subarray(frame.length);
    }
    this.#rest = left.length === 0 ? undefined : left;
  }

  /** Whether the bytes are one whole answer: as long as the last one, with its length said in the same place. */
  #isLikeLast(bytes: Buffer, length: number): boolean {
    const last = this.#last;
    if (last === undefined || last.length !== length) return false;
    return bytes.compare(last.line, 0, last.line.length, last.lineAt, last.lineAt + last.line.length) === 0;
  }

  /** The frame of a whole answer at the start of the bytes. */
  #frameOf(bytes: Buffer): Frame | undefined {
    const end = bytes.indexOf(HEAD_END);
    if (end < 0) return undefined;
    const head = bytes.toString("latin1", 0, end + 2);
    const found = /\r\ncontent-length: *(\d+)\r\n/i.exec(head);
    if (found === null) {
      this.#fail(new Error(`an answer without a length: ${head}`));
      this.#socket?.destroy();
      return undefined;
    }
    const length = end + HEAD_END.length + Number(found[1]);
    if (bytes.length < length) return undefined;
    return { length, line: Buffer.from(found[0], "latin1"), lineAt: found.index };
  }

  #fail(error: Error): void {
    for (const taker of this.#pending.splice(0)) taker.failed(error);
  }
}
