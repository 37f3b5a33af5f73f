/**
 * An HTTP/2 client that costs next to nothing, so that the server is what is measured: headers that were encoded once,
 * no streams as objects, and as few writes as there are turns of the event loop. Headers of answers are not read: a
 * call that brings no message has failed.
 */
import { connect, type Socket } from "node:net";

const FRAME_HEAD = 9;
const TYPE = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8 } as const;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const PADDED = 8;
const BIG_WINDOW = 2 ** 31 - 1;
const WINDOW_BYTES = 2 ** 24;

interface Pending {
  readonly resolve: (body: Buffer) => void;
  readonly reject: (error: Error) => void;
  body: Buffer | undefined;
}

/** Encodes a header list as HPACK literals that nobody remembers. */
export function encodeHeaders(headers: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of Object.entries(headers)) parts.push(Buffer.of(0), text(name), text(value));
  return Buffer.concat(parts);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const rest: number[] = [127];
  let left = bytes.length - 127;
  for (; left >= 128; left = Math.floor(left / 128)) rest.push((left % 128) + 128);
  return Buffer.concat([Buffer.from([...rest, left]), bytes]);
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.allocUnsafe(FRAME_HEAD + payload.length);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  head.set(payload, FRAME_HEAD);
  return head;
}

function windowUpdate(bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(TYPE.windowUpdate, 0, 0, payload);
}

export class RawHttp2 {
  readonly #socket: Socket;
  readonly #calls = new Map<number, Pending>();
  #out: Buffer[] = [];
  #received: Buffer = Buffer.alloc(0);
  #lastStream = -1;
  #taken = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const settings = Buffer.alloc(6);
    settings.writeUInt16BE(4, 0);
    settings.writeUInt32BE(BIG_WINDOW, 2);
    this.#write(Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    this.#write(frame(TYPE.settings, 0, 0, settings));
    this.#write(windowUpdate(WINDOW_BYTES));
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    const fail = () => this.#fail(new Error("the connection was closed"));
    socket.on("error", fail);
    socket.on("close", fail);
  }

  static connect(port: number): Promise<RawHttp2> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new RawHttp2(socket));
      });
    });
  }

  /** One request with encoded headers; answers the body. */
  call(headers: Buffer, body: Buffer): Promise<Buffer> {
    if (this.#socket.destroyed) return Promise.reject(new Error("the connection was closed"));
    this.#lastStream += 2;
    const stream = this.#lastStream;
    this.#write(frame(TYPE.headers, END_HEADERS, stream, headers));
    this.#write(frame(TYPE.data, END_STREAM, stream, body));
    return new Promise((resolve, reject) => {
      this.#calls.set(stream, { resolve, reject, body: undefined });
    });
  }

  close(): void {
    this.#calls.clear();
    this.#socket.destroy();
  }

  #write(bytes: Buffer): void {
    if (this.#out.length === 0) {
      setImmediate(() => {
        const out = Buffer.concat(this.#out);
        this.#out = [];
        this.#socket.write(out);
      });
    }
    this.#out.push(bytes);
  }

  #take(chunk: Buffer): void {
    const bytes = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    let at = 0;
    while (at + FRAME_HEAD <= bytes.length) {
      const end = at + FRAME_HEAD + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      const stream = bytes.readUInt32BE(at + 5);
      this.#frame(bytes[at + 3] ?? 0, bytes[at + 4] ?? 0, stream, bytes.subarray(at + FRAME_HEAD, end));
      at = end;
    }
    this.#received = bytes.subarray(at);
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    switch (type) {
      case TYPE.data: {
        if ((flags & PADDED) !== 0) throw new Error("padding is not understood here");
        this.#taken += payload.length;
        if (this.#taken > WINDOW_BYTES / 2) {
          this.#write(windowUpdate(this.#taken));
          this.#taken = 0;
        }
        const call = this.#calls.get(stream);
        if (call !== undefined)
          call.body = call.body === undefined ? payload : Buffer.concat([call.body, payload]);
        break;
      }
      case TYPE.settings:
        if ((flags & ACK) === 0) this.#write(frame(TYPE.settings, ACK, 0, Buffer.alloc(0)));
        return;
      case TYPE.ping:
        if ((flags & ACK) === 0) this.#write(frame(TYPE.ping, ACK, 0, Buffer.from(payload)));
        return;
      case TYPE.goaway:
        this.#fail(new Error("the server ends the connection"));
        return;
      case TYPE.reset:
        this.#end(stream, new Error(`the stream was reset with ${payload.readUInt32BE(0)}`));
        return;
      case TYPE.headers:
        break;
      default:
        return;
    }
    if ((flags & END_STREAM) !== 0) this.#end(stream, undefined);
  }

  #end(stream: number, error: Error | undefined): void {
    const call = this.#calls.get(stream);
    this.#calls.delete(stream);
    if (call === undefined) return;
    if (error !== undefined) call.reject(error);
    else if (call.body === undefined) call.reject(new Error("the call brought no message"));
    else call.resolve(call.body);
  }

  #fail(error: Error): void {
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
  }
}
