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
      const made = new Hub(channel, this.#redis, {
        onError: (error) => this.#options.onError?.(error),
        onEmpty: () => {
          if (this.#hubs.get(channel) !== made) return;
          this.#hubs.delete(channel);
          made.close();
        },
      });
      hub = made;
      this.#hubs.set(channel, hub);
    }
    const subscription = new Subscription(limit, hub);
    hub.add(subscription);
    try {
      await hub.ready;
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

interface HubEvents {
  onError(error: unknown): void;
  /** The last subscription has gone. */
  onEmpty(): void;
}

/** All subscriptions of one task in this process. */
class Hub implements SubscriptionOwner {
  readonly ready: Promise<void>;
  readonly #channel: string;
  readonly #redis: RedisConnection;
  readonly #events: HubEvents;
  readonly #subscriptions = new Set<Subscription>();
  readonly #listener = (payload: Buffer) => this.#receive(payload);
  /** The log is being read; a gap found meanwhile asks for another round. */
  #filling = false;
  #again = false;

  constructor(channel: string, redis: RedisConnection, events: HubEvents) {
    this.#channel = channel;
    this.#redis = redis;
    this.#events = events;
    this.ready = redis.subscribe(channel, this.#listener);
    this.ready.catch(events.onError);
  }

  add(subscription: Subscription): void {
    this.#subscriptions.add(subscription);
  }

  remove(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
    if (this.#subscriptions.size === 0) this.#events.onEmpty();
  }

  close(): void {
    this.ready.then(() => this.#redis.unsubscribe(this.#channel, this.#listener)).catch(this.#events.onError);
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
      .catch(this.#events.onError)
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

/** Whom a subscription belongs to. */
interface SubscriptionOwner {
  remove(subscription: Subscription): void;
  /** A subscription has found a gap: fill it from the log. */
  check(): void;
}

const NO_EVENTS: readonly LogEvent[] = [];

/**
 * One reader of a task log: an async iterable of notices in order, with a bounded buffer. A reader that falls behind
 * the bound is ended with `overflow`; single events are never dropped (A2A-95, SB-49).
 */
export class Subscription implements AsyncIterable<FeedNotice> {
  /** Why the iteration ended before its consumer wanted it to. */
  ended: "overflow" | "gap" | "closed" | undefined;
  readonly #limit: number;
  readonly #owner: SubscriptionOwner;
  readonly #queue: FeedNotice[] = [];
  /** Published before {@link startAt}; undefined once that was called. */
  #early: LogEvent[] | undefined = [];
  #position: number | undefined;
  #wake: (() => void) | undefined;

  constructor(limit: number, owner: SubscriptionOwner) {
    this.#limit = limit;
    this.#owner = owner;
  }

  /** The last event taken in; undefined before {@link startAt}. */
  get position(): number | undefined {
    return this.#position;
  }

  /** From now on, hand out the events after `seq`. Those published meanwhile are already here. */
  startAt(seq: number): void {
    this.#position = seq;
    const early = this.#early ?? NO_EVENTS;
    this.#early = undefined;
    for (const event of early) this.offer(event, false);
  }

  offer(event: LogEvent, fromLog: boolean): void {
    if (this.ended !== undefined) return;
    if (this.#position === undefined) {
      this.#early?.push(event);
      return;
    }
    if (event.seq <= this.#position) return;
    if (event.seq > this.#position + 1) {
      if (fromLog) this.#end("gap");
      else this.#owner.check();
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
    this.#rouse();
  }

  close(): void {
    this.#end("closed");
  }

  /** The next notice that is here. Undefined: none is, and where {@link ended} says so none will be. */
  take(): FeedNotice | undefined {
    return this.#queue.shift();
  }

  /** Calls `wake` once: with the next notice, or at the end. One reader at a time. */
  wait(wake: () => void): void {
    this.#wake = wake;
  }

  [Symbol.asyncIterator](): AsyncIterator<FeedNotice> {
    return {
      next: () => {
        const notice = this.take();
        if (notice !== undefined) return Promise.resolve({ done: false, value: notice });
        if (this.ended !== undefined) return Promise.resolve(OVER);
        return new Promise((resolve) => {
          this.wait(() => {
            const next = this.take();
            resolve(next === undefined ? OVER : { done: false, value: next });
          });
        });
      },
      return: () => {
        this.#end("closed");
        return Promise.resolve(OVER);
      },
    };
  }

  #rouse(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #end(reason: "overflow" | "gap" | "closed"): void {
    if (this.ended !== undefined) return;
    this.ended = reason;
    this.#early = undefined;
    this.#owner.remove(this);
    this.#rouse();
  }
}
