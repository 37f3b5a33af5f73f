import type { RedisConnection } from "./connection.ts";
import { taskChannel } from "./keys.ts";
import { Subscription, type SubscriptionOwner } from "./subscription.ts";
import { LogEvent, readLog, readPage } from "./task-log.ts";

export interface FeedOptions {
  /** How often a quiet subscription looks at the log by itself, in case a publication was lost. */
  readonly checkMs?: number;
  onError?(error: unknown): void;
}

/** Events held at once for a reader that catches up; each may be as large as a request. */
const REPLAY_COUNT = 50;

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
