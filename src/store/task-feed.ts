import { fromBinary } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { rememberBytes } from "../domain/encoded.ts";
import type { RedisConnection, Reply } from "./connection.ts";
import { taskChannel } from "./keys.ts";

/** One event of a task log. The message is decoded once for all subscribers of this process. */
export class LogEvent {
  readonly seq: number;
  readonly bytes: Buffer;
  #message: StreamResponse | undefined;

  constructor(seq: number, bytes: Buffer) {
    this.seq = seq;
    this.bytes = bytes;
  }

  /** Shared: never change it. */
  get message(): StreamResponse {
    if (this.#message === undefined) {
      this.#message = fromBinary(StreamResponseSchema, this.bytes);
      rememberBytes(this.#message, this.bytes);
    }
    return this.#message;
  }
}

/** What a subscriber is told. `message`: a client's message was stored at that position of the history. */
export type FeedNotice =
  | { readonly kind: "event"; readonly event: LogEvent }
  | { readonly kind: "message"; readonly position: number };

export interface FeedOptions {
  /** How often a quiet subscription looks at the log by itself, in case a publication was lost. */
  readonly checkMs?: number;
  onError?(error: unknown): void;
}

/** Pages of the log when a gap is filled. */
const READ_COUNT = 500;
/** Events held at once for a reader that catches up; each may be as large as a request. */
const REPLAY_COUNT = 50;

/** A gap that the bounded log can no longer fill. */
export class LogGap extends Error {
  override readonly name = "LogGap";
}

/**
 * The live side of the task logs. Channels only carry what the log already holds: a subscriber that finds a gap reads
 * the log, so all subscribers of a task, on any replica, see the same events in the same order (A2A-85, SB-45). One
 * Redis subscription per task and process, counted by reference.
 */
export class TaskFeed {
  readonly #redis: RedisConnection;
  readonly #options: FeedOptions;
  readonly #hubs = new Map<string, Hub>();
  readonly #timer: NodeJS.Timeout;

  constructor(redis: RedisConnection, options: FeedOptions = {}) {
    this.#redis = redis;
    this.#options = options;
    redis.onSubscriberReconnect(() => this.#checkAll());
    this.#timer = setInterval(() => this.#checkAll(), options.checkMs ?? 10_000);
    this.#timer.unref();
  }

  /** How many tasks are being followed; 0 when every subscriber has gone (SB-48). */
  get size(): number {
    return this.#hubs.size;
  }

  /**
   * Subscribes. Resolves once the channel is live, so that a snapshot read after it misses nothing (A2A-87). Until
   * {@link Subscription.startAt} says from where, events are only held.
   */
  async subscribe(agent: string, taskId: string, limit: number): Promise<Subscription> {
    const channel = taskChannel(agent, taskId);
    let hub = this.#hubs.get(channel);
    if (hub === undefined) {
      hub = new Hub(channel, this.#redis, (error) => this.#options.onError?.(error));
      this.#hubs.set(channel, hub);
    }
    const owner = hub;
    const subscription = new Subscription(limit, () => {
      owner.remove(subscription);
      if (owner.size === 0 && this.#hubs.get(channel) === owner) {
        this.#hubs.delete(channel);
        owner.close();
      }
    });
    owner.add(subscription);
    try {
      await owner.ready;
    } catch (error) {
      subscription.close();
      throw error;
    }
    return subscription;
  }

  /** Events of the log with a number greater than `after`, oldest first. */
  async read(agent: string, taskId: string, after: number): Promise<LogEvent[]> {
    return readLog(this.#redis, taskChannel(agent, taskId), after);
  }

  /** The same up to and including `last`, a page at a time and only as fast as they are taken. */
  async *pages(agent: string, taskId: string, after: number, last: number): AsyncGenerator<LogEvent[]> {
    for (let from = after; from < last; ) {
      const page = await readPage(this.#redis, taskChannel(agent, taskId), from, last, REPLAY_COUNT);
      const end = page.at(-1)?.seq;
      if (end === undefined) return;
      yield page;
      from = end;
    }
  }

  close(): void {
    clearInterval(this.#timer);
    for (const hub of this.#hubs.values()) hub.closeSubscriptions();
    this.#hubs.clear();
  }

  #checkAll(): void {
    for (const hub of this.#hubs.values()) hub.check();
  }
}

async function readLog(redis: RedisConnection, taskKey: string, after: number): Promise<LogEvent[]> {
  const events: LogEvent[] = [];
  for (;;) {
    const page = await readPage(redis, taskKey, events.at(-1)?.seq ?? after, undefined, READ_COUNT);
    events.push(...page);
    if (page.length < READ_COUNT) return events;
  }
}

async function readPage(
  redis: RedisConnection,
  taskKey: string,
  after: number,
  last: number | undefined,
  count: number,
): Promise<LogEvent[]> {
  const to = last === undefined ? "+" : `${last}-0`;
  const range = ["XRANGE", `${taskKey}:log`, `${after + 1}-0`, to, "COUNT", String(count)];
  const reply = await redis.run(taskKey, range);
  return (Array.isArray(reply) ? reply : []).map(eventOf);
}

function eventOf(entry: Reply): LogEvent {
  if (!Array.isArray(entry)) throw new Error("unexpected entry in a task log");
  const [id, fields] = entry;
  const bytes = Array.isArray(fields) ? fields[1] : undefined;
  if (!Buffer.isBuffer(bytes)) throw new Error("unexpected entry in a task log");
  return new LogEvent(Number.parseInt(String(id), 10), bytes);
}

/** All subscriptions of one task in this process. */
class Hub {
  readonly ready: Promise<void>;
  readonly #channel: string;
  readonly #redis: RedisConnection;
  readonly #onError: (error: unknown) => void;
  readonly #subscriptions = new Set<Subscription>();
  readonly #listener = (payload: Buffer) => this.#receive(payload);
  /** The log is being read; a gap found meanwhile asks for another round. */
  #filling = false;
  #again = false;

  constructor(channel: string, redis: RedisConnection, onError: (error: unknown) => void) {
    this.#channel = channel;
    this.#redis = redis;
    this.#onError = onError;
    this.ready = redis.subscribe(channel, this.#listener);
    this.ready.catch(onError);
  }

  get size(): number {
    return this.#subscriptions.size;
  }

  add(subscription: Subscription): void {
    this.#subscriptions.add(subscription);
    subscription.onGap = () => this.check();
  }

  remove(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
  }

  close(): void {
    this.ready.then(() => this.#redis.unsubscribe(this.#channel, this.#listener)).catch(this.#onError);
  }

  closeSubscriptions(): void {
    for (const subscription of [...this.#subscriptions]) subscription.close();
  }

  /** Reads the log from where the furthest-behind subscription stands. */
  check(): void {
    if (this.#filling) {
      this.#again = true;
      return;
    }
    const positions = [...this.#subscriptions].flatMap(({ position }) =>
      position === undefined ? [] : [position],
    );
    if (positions.length === 0) return;
    this.#filling = true;
    readLog(this.#redis, this.#channel, Math.min(...positions))
      .then((events) => {
        for (const event of events) this.#deliver(event, true);
      })
      .catch(this.#onError)
      .finally(() => {
        this.#filling = false;
        if (this.#again) {
          this.#again = false;
          this.check();
        }
      });
  }

  #receive(payload: Buffer): void {
    const colon = payload.indexOf(58);
    if (payload[0] === 109) {
      const position = Number(payload.toString("latin1", 1));
      for (const subscription of this.#subscriptions) subscription.tell({ kind: "message", position });
      return;
    }
    const seq = Number(payload.toString("latin1", 1, colon));
    this.#deliver(new LogEvent(seq, payload.subarray(colon + 1)), false);
  }

  #deliver(event: LogEvent, fromLog: boolean): void {
    for (const subscription of this.#subscriptions) subscription.offer(event, fromLog);
  }
}

const OVER: IteratorReturnResult<undefined> = { done: true, value: undefined };

/**
 * One reader of a task log: an async iterable of notices in order, with a bounded buffer. A reader that falls behind
 * the bound is ended with `overflow`; single events are never dropped (A2A-95, SB-49).
 */
export class Subscription implements AsyncIterable<FeedNotice> {
  onGap: () => void = () => {};
  /** Why the iteration ended before its consumer wanted it to. */
  ended: "overflow" | "gap" | "closed" | undefined;
  readonly #limit: number;
  readonly #release: () => void;
  readonly #queue: FeedNotice[] = [];
  #early: LogEvent[] = [];
  #position: number | undefined;
  #wake: (() => void) | undefined;

  constructor(limit: number, release: () => void) {
    this.#limit = limit;
    this.#release = release;
  }

  /** The last event taken in; undefined before {@link startAt}. */
  get position(): number | undefined {
    return this.#position;
  }

  /** From now on, hand out the events after `seq`. Those published meanwhile are already here. */
  startAt(seq: number): void {
    this.#position = seq;
    const early = this.#early;
    this.#early = [];
    for (const event of early) this.offer(event, false);
  }

  offer(event: LogEvent, fromLog: boolean): void {
    if (this.ended !== undefined) return;
    if (this.#position === undefined) {
      this.#early.push(event);
      return;
    }
    if (event.seq <= this.#position) return;
    if (event.seq > this.#position + 1) {
      if (fromLog) this.#end("gap");
      else this.onGap();
      return;
    }
    this.#position = event.seq;
    this.tell({ kind: "event", event });
  }

  tell(notice: FeedNotice): void {
    if (this.ended !== undefined) return;
    if (this.#queue.length >= this.#limit) {
      this.#end("overflow");
      return;
    }
    this.#queue.push(notice);
    this.#wake?.();
  }

  close(): void {
    this.#end("closed");
  }

  /** No generator: one is held for every stream, and woken for every event of it. One reader at a time. */
  [Symbol.asyncIterator](): AsyncIterator<FeedNotice> {
    return {
      next: () => {
        const notice = this.#queue.shift();
        if (notice !== undefined) return Promise.resolve({ done: false, value: notice });
        if (this.ended !== undefined) return Promise.resolve(OVER);
        return new Promise((resolve) => {
          this.#wake = () => {
            this.#wake = undefined;
            const next = this.#queue.shift();
            resolve(next === undefined ? OVER : { done: false, value: next });
          };
        });
      },
      return: () => {
        this.#end("closed");
        return Promise.resolve(OVER);
      },
    };
  }

  #end(reason: "overflow" | "gap" | "closed"): void {
    if (this.ended !== undefined) return;
    this.ended = reason;
    this.#early = [];
    this.#release();
    this.#wake?.();
  }
}
