import { constants } from "node:http2";
import { EVENT_STREAM } from "./content-type.ts";
import { type Heartbeat, heartbeatsOf } from "./heartbeats.ts";
import type { HttpResponse } from "./http-handler.ts";

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
 * other streams may be sent as well.
 */
export async function writeSse(
  response: HttpResponse,
  headers: Iterable<readonly [string, string]>,
  events: AsyncIterable<SseEvent | Buffer>,
  options: SseOptions = DEFAULT_SSE,
): Promise<void> {
  const iterator = events[Symbol.asyncIterator]();
  if (response.destroyed || response.headersSent) {
    abandon(iterator);
    return;
  }
  const presence = new Presence(response);
  begin(response, headers);
  const keepAlive = startKeepAlive(response, options.keepAliveMs);
  try {
    for (;;) {
      const next = await presence.orGone(iterator.next());
      if (next === GONE) return;
      if (next.done === true) break;
      keepAlive.hold();
      const frame = Buffer.isBuffer(next.value) ? next.value : encodeSse(next.value);
      if (!write(response, frame) && !(await drained(response, presence, options.stallMs))) return;
      keepAlive.touch();
    }
    response.end();
  } catch {
    // Only a fault of our own reaches this: an unfinished stream must not look like a finished one.
    cut(response);
  } finally {
    keepAlive.stop();
    iterator.return?.()?.catch(ignore);
  }
}

/**
 * {@link writeSse} for whoever has nothing left to do: who awaits a stream is kept in memory with it, and so is whoever
 * awaits that one.
 */
export function startSse(
  response: HttpResponse,
  headers: Iterable<readonly [string, string]>,
  events: AsyncIterable<SseEvent | Buffer>,
  options?: SseOptions,
): void {
  writeSse(response, headers, events, options).catch(() => cut(response));
}

const GONE = Symbol("gone");

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

/**
 * Whether the client is still there. One listener for the whole stream: racing each event against one promise would keep
 * every race in memory until the stream ends.
 */
class Presence {
  #gone = false;
  #notify: (() => void) | undefined;

  constructor(response: HttpResponse) {
    const leave = (): void => {
      this.#gone = true;
      this.#notify?.();
    };
    response.once("close", leave);
    response.on("error", leave);
  }

  orGone<T>(promise: Promise<T>): Promise<T | typeof GONE> {
    return new Promise((resolve, reject) => {
      this.#notify = () => resolve(GONE);
      if (this.#gone) resolve(GONE);
      promise.then(resolve, reject);
    });
  }
}

/** Whether the client took what was written; a client that stalls is cut off. */
async function drained(response: HttpResponse, presence: Presence, stallMs: number): Promise<boolean> {
  const waiting = Promise.withResolvers<"drain" | "stalled">();
  const onDrain = (): void => waiting.resolve("drain");
  const timer = setTimeout(() => waiting.resolve("stalled"), stallMs);
  response.once("drain", onDrain);
  const outcome = await presence.orGone(waiting.promise);
  clearTimeout(timer);
  response.off("drain", onDrain);
  if (outcome === "stalled") cut(response);
  return outcome === "drain";
}

/** Ends a stream so that its reader sees that it was cut (A2A-83). */
function cut(response: HttpResponse): void {
  if ("stream" in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}

const COMMENT = Buffer.from(": keep-alive\n\n");

/** Comments in times of silence. While an event waits for the client they would only pile up behind it. */
function startKeepAlive(response: HttpResponse, ms: number): Heartbeat {
  const beat = heartbeatsOf(ms).start(() => {
    // A comment that fills the buffer is the last one until the client has read it.
    if (write(response, COMMENT)) return;
    beat.hold();
    response.once("drain", () => beat.touch());
  });
  return beat;
}
