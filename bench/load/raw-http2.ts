/**
 * An HTTP/2 client that costs next to nothing, so that the server is what is measured: headers that were encoded once,
 * no streams as objects, and as few writes as there are turns of the event loop. Headers of answers are not read: a
 * call that brings no message has failed.
 */
import type { Socket } from "node:net";
import { connectRaw } from "./raw-socket.ts";
import { promised, type Taker } from "./taker.ts";

const FRAME_HEAD = 9;
/** Where the head of a frame names its stream. */
const STREAM_AT = 5;
/** Room for what goes out in one write. */
const OUT_BYTES = 2 ** 15;
const TYPE = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8 } as const;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const PADDED = 8;
const BIG_WINDOW = 2 ** 31 - 1;
const WINDOW_BYTES = 2 ** 24;

interface Pending {
  readonly taker: Taker;
  /** The body so far: in the buffer that is being read, or a copy of it. */
  bytes: Buffer | undefined;
  from: number;
  to: number;
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

/** The frames of one request, made once, for any stream. */
export class RequestFrames {
  readonly bytes: Buffer;
  readonly #bodyAt: number;

  constructor(headers: Buffer, body: Buffer) {
    this.#bodyAt = FRAME_HEAD + headers.length;
    this.bytes = Buffer.concat([
      frame(TYPE.headers, END_HEADERS, 0, headers),
      frame(TYPE.data, END_STREAM, 0, body),
    ]);
  }

  /** Puts the frames, as those of a stream, into a buffer. */
  copyTo(out: Buffer, at: number, stream: number): void {
    out.set(this.bytes, at);
    out.writeUInt32BE(stream, at + STREAM_AT);
    out.writeUInt32BE(stream, at + this.#bodyAt + STREAM_AT);
  }
}

export class RawHttp2 {
  #socket: Socket | undefined;
  readonly #calls = new Map<number, Pending>();
  /** Calls whose body lies in the buffer that is being read. */
  readonly #here: Pending[] = [];
  #out = Buffer.allocUnsafeSlow(OUT_BYTES);
  #outLength = 0;
  #flushing = false;
  #reading = false;
  #rest: Buffer | undefined;
  #lastStream = -1;
  #taken = 0;

  static async connect(port: number): Promise<RawHttp2> {
    const client = new RawHttp2();
    client.#socket = await connectRaw(port, {
      read: (bytes, length) => client.#read(bytes, length),
      closed: () => client.#fail(new Error("the connection was closed")),
    });
    const settings = Buffer.alloc(6);
    settings.writeUInt16BE(4, 0);
    settings.writeUInt32BE(BIG_WINDOW, 2);
    client.#write(Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    client.#write(frame(TYPE.settings, 0, 0, settings));
    client.#write(windowUpdate(WINDOW_BYTES));
    return client;
  }

  /** Sends a request; the taker gets the body of its answer. */
  send(request: RequestFrames, taker: Taker): void {
    if (this.#socket === undefined || this.#socket.destroyed) {
      setImmediate(() => taker.failed(new Error("the connection was closed")));
      return;
    }
    this.#lastStream += 2;
    const at = this.#room(request.bytes.length);
    request.copyTo(this.#out, at, this.#lastStream);
    this.#calls.set(this.#lastStream, { taker, bytes: undefined, from: 0, to: 0 });
  }

  /** One request with encoded headers; answers the body. */
  call(headers: Buffer, body: Buffer): Promise<Buffer> {
    return promised((taker) => this.send(new RequestFrames(headers, body), taker));
  }

  close(): void {
    this.#calls.clear();
    this.#socket?.destroy();
  }

  #write(bytes: Buffer): void {
    const at = this.#room(bytes.length);
    this.#out.set(bytes, at);
  }

  /** Where so many bytes go out with all others of this turn of the event loop. */
  #room(length: number): number {
    if (this.#outLength + length > this.#out.length) this.#flush();
    if (length > this.#out.length) this.#out = Buffer.allocUnsafeSlow(length);
    const at = this.#outLength;
    this.#outLength += length;
    if (!this.#reading && !this.#flushing) {
      this.#flushing = true;
      setImmediate(() => {
        this.#flushing = false;
        this.#flush();
      });
    }
    return at;
  }

  #flush(): void {
    if (this.#outLength === 0 || this.#socket === undefined) return;
    this.#socket.write(this.#out.subarray(0, this.#outLength));
    this.#outLength = 0;
    // What the kernel has not taken yet must stay as it is.
    if (this.#socket.writableLength > 0) this.#out = Buffer.allocUnsafeSlow(OUT_BYTES);
  }

  #read(fresh: Buffer, length: number): void {
    let bytes = fresh;
    let end = length;
    if (this.#rest !== undefined) {
      bytes = Buffer.concat([this.#rest, fresh.subarray(0, length)]);
      end = bytes.length;
    }
    this.#reading = true;
    let at = 0;
    while (at + FRAME_HEAD <= end) {
      const next = at + FRAME_HEAD + bytes.readUIntBE(at, 3);
      if (next > end) break;
      this.#frame(bytes, at, next);
      at = next;
    }
    this.#rest = at === end ? undefined : Buffer.from(bytes.subarray(at, end));
    for (const call of this.#here) keep(call);
    this.#here.length = 0;
    this.#reading = false;
    this.#flush();
  }

  #frame(bytes: Buffer, at: number, end: number): void {
    const type = bytes[at + 3] ?? 0;
    const flags = bytes[at + 4] ?? 0;
    const stream = bytes.readUInt32BE(at + STREAM_AT);
    const from = at + FRAME_HEAD;
    switch (type) {
      case TYPE.data:
        if ((flags & PADDED) !== 0) throw new Error("padding is not understood here");
        this.#data(stream, bytes, from, end);
        break;
      case TYPE.settings:
        if ((flags & ACK) === 0) this.#write(frame(TYPE.settings, ACK, 0, Buffer.alloc(0)));
        return;
      case TYPE.ping:
        if ((flags & ACK) === 0) this.#write(frame(TYPE.ping, ACK, 0, bytes.subarray(from, end)));
        return;
      case TYPE.goaway:
        this.#fail(new Error("the server ends the connection"));
        return;
      case TYPE.reset:
        this.#end(stream, new Error(`the stream was reset with ${bytes.readUInt32BE(from)}`));
        return;
      case TYPE.headers:
        break;
      default:
        return;
    }
    if ((flags & END_STREAM) !== 0) this.#end(stream, undefined);
  }

  #data(stream: number, bytes: Buffer, from: number, to: number): void {
    this.#taken += to - from;
    if (this.#taken > WINDOW_BYTES / 2) {
      this.#write(windowUpdate(this.#taken));
      this.#taken = 0;
    }
    const call = this.#calls.get(stream);
    if (call === undefined || from === to) return;
    if (call.bytes === undefined) {
      call.bytes = bytes;
      call.from = from;
      call.to = to;
      this.#here.push(call);
      return;
    }
    const before = call.bytes.subarray(call.from, call.to);
    call.bytes = Buffer.concat([before, bytes.subarray(from, to)]);
    call.from = 0;
    call.to = call.bytes.length;
  }

  #end(stream: number, error: Error | undefined): void {
    const call = this.#calls.get(stream);
    this.#calls.delete(stream);
    if (call === undefined) return;
    const { taker, bytes } = call;
    // Nobody needs it after this: see keep().
    call.bytes = undefined;
    if (error !== undefined) taker.failed(error);
    else if (bytes === undefined) taker.failed(new Error("the call brought no message"));
    else taker.answered(bytes, call.from, call.to);
  }

  #fail(error: Error): void {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const { taker } of calls) taker.failed(error);
  }
}

/** Saves the body of a call that is not over from the next read. */
function keep(call: Pending): void {
  if (call.bytes === undefined) return;
  call.bytes = Buffer.from(call.bytes.subarray(call.from, call.to));
  call.to -= call.from;
  call.from = 0;
}
