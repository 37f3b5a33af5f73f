import { constants } from "node:http2";
import { BatonError } from "../domain/errors.ts";
import { EVENT_STREAM } from "./content-type.ts";
import { type Heartbeat, heartbeatsOf } from "./heartbeats.ts";
import type { CallResponse, HttpResponse } from "./http-handler.ts";
import { SLICE_BYTES } from "./stall.ts";

/** One server-sent event. */
export interface SseEvent {
  readonly data: string;
  /** Position in the task log (A2A-141). */
  readonly id?: string;
  readonly event?: string;
}

export interface SseOptions {
  /** A comment is sent after this much silence, in milliseconds, so that proxies keep the stream open (A2A-142). */
  readonly keepAliveMs: number;
  /** A client that takes nothing for this long, in milliseconds, is cut off (A2A-95). */
  readonly stallMs: number;
}

export const DEFAULT_SSE: SseOptions = { keepAliveMs: 15_000, stallMs: 60_000 };

/**
 * The wire form of one event. Data is split on every kind of line end. An id or name with a line end or NUL would
 * become other fields of the stream, so it is refused with a RangeError.
 */
export function encodeSse({ data, id, event }: SseEvent): string {
  // Nearly every event: JSON has no line ends.
  if (event === undefined && !LINE_END.test(data)) {
    return id === undefined ? `data: ${data}\n\n` : `id: ${singleLine(id)}\ndata: ${data}\n\n`;
  }
  const lines: string[] = [];
  if (event !== undefined) lines.push(`event: ${singleLine(event)}`);
  if (id !== undefined) lines.push(`id: ${singleLine(id)}`);
  for (const line of data.split(/\r\n|\r|\n/)) lines.push(`data: ${line}`);
  return `${lines.join("\n")}\n\n`;
}

const LINE_END = /[\r\n]/;

function singleLine(text: string): string {
  if (/[\r\n\0]/.test(text)) throw new RangeError("an event id or name must be one line");
  return text;
}

/**
 * Writes a stream of events and ends the response after the last. The next event is asked for only when the client has
 * taken the one before, so nothing piles up here beyond the buffer of the socket. When the client goes away, or takes
 * nothing for too long, the source is told to return; it is not awaited, since it may be waiting for work.
 *
 * `events` must not throw: errors of the source are events of its binding. A Buffer is an event in its wire form, which
 * other streams may be sent as well. Resolves when nothing more will be written.
 */
export function writeSse(
  response: HttpResponse,
  headers: Iterable<readonly [string, string]>,
  events: AsyncIterable<SseEvent | Buffer>,
  options: SseOptions = DEFAULT_SSE,
): Promise<void> {
  return new Promise((resolve) => {
    start(response, headers, events, options, resolve);
  });
}

/** Where a stream can go. Throws for a response that takes one answer: `isUnary` should have said no. */
export function streamable(response: CallResponse): HttpResponse {
  if ("send" in response) throw new BatonError("Internal", "a stream was taken for a unary call");
  return response;
}

/**
 * {@link writeSse} for whoever has nothing left to do: who awaits a stream is kept in memory with it, and so is whoever
 * awaits that one.
 */
export function startSse(
  response: HttpResponse,
  headers: Iterable<readonly [string, string]>,
  events: AsyncIterable<SseEvent | Buffer>,
  options: SseOptions = DEFAULT_SSE,
): void {
  start(response, headers, events, options, ignore);
}

function start(
  response: HttpResponse,
  headers: Iterable<readonly [string, string]>,
  events: AsyncIterable<SseEvent | Buffer>,
  options: SseOptions,
  onEnd: () => void,
): void {
  const iterator = events[Symbol.asyncIterator]();
  if (response.destroyed || response.headersSent) {
    abandon(iterator);
    onEnd();
    return;
  }
  const writer = new SseWriter(response, iterator, options, onEnd);
  try {
    begin(response, headers);
  } catch {
    writer.break();
    return;
  }
  writer.next();
}

function ignore(): void {}

/** A generator that was never started skips its clean-up when told to return, so it is started first. */
function abandon(iterator: AsyncIterator<SseEvent | Buffer>): void {
  iterator
    .next()
    .then(() => iterator.return?.())
    .catch(ignore);
}

function begin(response: HttpResponse, headers: Iterable<readonly [string, string]>): void {
  const own = [
    ["content-type", EVENT_STREAM],
    ["cache-control", "no-cache, no-transform"],
    ["x-accel-buffering", "no"],
  ] as const;
  onlyThis(response);
  // Silence is normal on a stream: no idle timeout of the socket applies (A2A-145).
  response.setTimeout(0);
  // The client learns at once that its stream is open.
  if ("flushHeaders" in response) {
    // Headers that are set one by one are kept in memory for as long as the stream lasts.
    response.writeHead(200, [...headers, ...own].flat());
    response.flushHeaders();
    return;
  }
  for (const [name, value] of [...headers, ...own]) response.setHeader(name, value);
  response.writeHead(200);
}

/**
 * HTTP/1.1: the connection of a stream ends with it. A stream often ends because its server goes, and a client that took
 * the connection for its next call would meet the close.
 */
export function onlyThis(response: HttpResponse): void {
  if ("shouldKeepAlive" in response) response.shouldKeepAlive = false;
}

/** Both kinds of response take either; the union of their signatures does not say so. */
function write(response: HttpResponse, frame: string | Buffer): boolean {
  return (response as { write(chunk: string | Buffer): boolean }).write(frame);
}

/** One stream on its way out. No async function: one is held for every stream, and woken for every event of it. */
class SseWriter {
  readonly #response: HttpResponse;
  readonly #events: AsyncIterator<SseEvent | Buffer>;
  readonly #stallMs: number;
  readonly #onEnd: () => void;
  readonly #keepAlive: Heartbeat;
  /** Runs while the client has not taken the last event. */
  #stall: NodeJS.Timeout | undefined;
  #over = false;
  readonly #take = (next: IteratorResult<SseEvent | Buffer>) => this.#taken(next);
  /** Only a fault of our own reaches this: an unfinished stream must not look like a finished one. */
  readonly #break = () => this.break();

  constructor(
    response: HttpResponse,
    events: AsyncIterator<SseEvent | Buffer>,
    options: SseOptions,
    onEnd: () => void,
  ) {
    this.#response = response;
    this.#events = events;
    this.#stallMs = options.stallMs;
    this.#onEnd = onEnd;
    this.#keepAlive = heartbeatsOf(options.keepAliveMs).start(() => this.#beat());
    const leave = () => this.#end();
    response.on("close", leave);
    response.on("error", leave);
  }

  next(): void {
    this.#events.next().then(this.#take, this.#break);
  }

  break(): void {
    if (this.#over) return;
    cut(this.#response);
    this.#end();
  }

  #taken(next: IteratorResult<SseEvent | Buffer>): void {
    if (this.#over) return;
    if (next.done === true) {
      this.#response.end();
      this.#end();
      return;
    }
    this.#keepAlive.hold();
    try {
      const frame = Buffer.isBuffer(next.value) ? next.value : encodeSse(next.value);
      if (frame.length <= SLICE_BYTES) this.#write(frame);
      else this.#write(typeof frame === "string" ? Buffer.from(frame) : frame);
    } catch {
      this.break();
    }
  }

  /** Writes a frame, a long one in slices, and goes on to the next. */
  #write(frame: string | Buffer): void {
    const rest =
      Buffer.isBuffer(frame) && frame.length > SLICE_BYTES ? frame.subarray(SLICE_BYTES) : undefined;
    const slice = rest === undefined ? frame : frame.slice(0, SLICE_BYTES);
    if (write(this.#response, slice)) this.#written(rest);
    else this.#awaitDrain(rest);
  }

  /** A client that stalls is cut off. */
  #awaitDrain(rest: Buffer | undefined): void {
    this.#stall = setTimeout(this.#break, this.#stallMs);
    this.#response.once("drain", () => {
      if (this.#over) return;
      clearTimeout(this.#stall);
      this.#stall = undefined;
      this.#written(rest);
    });
  }

  #written(rest: Buffer | undefined): void {
    if (rest !== undefined) {
      this.#write(rest);
      return;
    }
    this.#keepAlive.touch();
    this.next();
  }

  /** A comment in times of silence. While an event waits for the client they would only pile up behind it. */
  #beat(): void {
    // A comment that fills the buffer is the last one until the client has read it.
    if (write(this.#response, COMMENT)) return;
    this.#keepAlive.hold();
    this.#response.once("drain", () => this.#keepAlive.touch());
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#stall);
    this.#keepAlive.stop();
    this.#events.return?.()?.catch(ignore);
    this.#onEnd();
  }
}

/** Ends a stream so that its reader sees that it was cut (A2A-83). */
function cut(response: HttpResponse): void {
  if ("stream" in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}

const COMMENT = Buffer.from(": keep-alive\n\n");
