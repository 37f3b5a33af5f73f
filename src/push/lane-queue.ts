import { DelayedError, type Job, Queue, Worker } from "bullmq";
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis";
import type { RedisTarget } from "../store/connection.ts";
import type { LaneTurn } from "../store/push-lanes.ts";

/** What a job says: which lanes to work. No secret, no body, no URL (OW-45). */
interface LaneJob {
  readonly agent: string;
  readonly turns: readonly LaneTurn[];
}

export interface LaneQueueOptions {
  readonly target: RedisTarget;
  /** Lanes that this process works on at one time. */
  readonly concurrency: number;
  /** A worker that gives no sign of life for this long is taken for dead, in milliseconds. */
  readonly leaseMs: number;
  /** Works a lane; answers in how many milliseconds to come back. */
  run(agent: string, turn: LaneTurn): Promise<number | undefined>;
  onError(error: unknown): void;
}

const NAME = "lanes";
/** The hash tag keeps all keys of the queue in one slot of a cluster. */
const PREFIX = "{baton-push}";
/** Longer pauses between reconnects made the first job after an outage late by as much (B2). */
const RECONNECT_CAP_MS = 1000;
/** Lanes that share a job where many are queued at once: what a job costs is more than what a lane does. */
const LANES_PER_JOB = 8;
/** So few lanes have a job each, so that several processes can share them. */
const FEW_LANES = 16;
/** After an error that is not the receiver's. */
const ERROR_DELAY_MS = 500;

/** The queue of lanes that want to be worked, on BullMQ: when, and by which process. What is sent stands in the lanes. */
export class LaneQueue {
  readonly #producer: Redis | Cluster;
  readonly #consumer: Redis | Cluster;
  readonly #queue: Queue<LaneJob>;
  readonly #worker: Worker<LaneJob>;
  #lastFetchAt = Date.now();

  constructor(options: LaneQueueOptions) {
    const { target, onError } = options;
    // A job may hold several lanes: the queue's own bound counts jobs.
    const places = new Places(options.concurrency);
    // A producer that cannot reach Redis fails at once: the lane is found again by its due time.
    this.#producer = connect(target, { maxRetriesPerRequest: 1, enableOfflineQueue: false });
    this.#consumer = connect(target, { maxRetriesPerRequest: null });
    for (const client of [this.#producer, this.#consumer]) client.on("error", onError);
    this.#queue = new Queue<LaneJob>(NAME, {
      connection: this.#producer,
      prefix: PREFIX,
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
      streams: { events: { maxLen: 100 } },
    });
    this.#queue.on("error", onError);
    this.#worker = new Worker<LaneJob>(
      NAME,
      (job, token) => {
        this.#lastFetchAt = Date.now();
        return work(job, token, this.#queue, {
          ...options,
          run: (agent, turn) => places.with(() => options.run(agent, turn)),
        });
      },
      {
        connection: this.#consumer,
        prefix: PREFIX,
        concurrency: options.concurrency,
        lockDuration: options.leaseMs,
        stalledInterval: options.leaseMs,
        // Being interrupted is not the job's fault; the lane counts its attempts itself (D4).
        maxStalledCount: 1_000_000,
        drainDelay: 5,
        autorun: true,
      },
    );
    this.#worker.on("error", onError);
  }

  /** When this process last got a job, in milliseconds since the epoch: a worker can be connected and silent (B4). */
  get lastFetchAt(): number {
    return this.#lastFetchAt;
  }

  async ready(): Promise<void> {
    await Promise.all([this.#queue.waitUntilReady(), this.#worker.waitUntilReady()]);
  }

  /** Queues lanes; one that is queued already under the same number is worked once all the same. */
  async add(agent: string, turns: readonly LaneTurn[]): Promise<void> {
    const size = turns.length > FEW_LANES ? LANES_PER_JOB : 1;
    const jobs: ReturnType<typeof jobOf>[] = [];
    for (let i = 0; i < turns.length; i += size) jobs.push(jobOf(agent, turns.slice(i, i + size)));
    if (jobs.length > 0) await this.#queue.addBulk(jobs);
  }

  /** Fetches no more jobs; those at work go on. */
  async pause(): Promise<void> {
    await this.#worker.pause(true);
  }

  /** Cuts the connections, whatever is under way. */
  abandon(): void {
    for (const client of [this.#consumer, this.#producer]) client.disconnect();
    this.#worker.close(true).catch(() => undefined);
    this.#queue.close().catch(() => undefined);
  }

  /** Waits for the jobs at work, then closes queue and clients (B14). BullMQ leaves clients that it was given open. */
  async close(): Promise<void> {
    await this.#worker.close();
    await this.#queue.close();
    for (const client of [this.#consumer, this.#producer]) {
      await client.quit().catch(() => client.disconnect());
    }
  }
}

/** At most so many at one time; the others wait for their turn. */
class Places {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async with<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}

function jobOf(agent: string, turns: readonly LaneTurn[], delay?: number) {
  const [first] = turns;
  return {
    name: "lanes",
    data: { agent, turns },
    opts: {
      jobId: `lanes-${turns.length}-${first?.ref}-${first?.gen}`,
      ...(delay === undefined ? {} : { delay }),
    },
  };
}

/** Works the lanes of a job side by side. Those that have to wait are queued for their time, each on its own. */
async function work(
  job: Job<LaneJob>,
  token: string | undefined,
  queue: Queue<LaneJob>,
  options: LaneQueueOptions,
): Promise<void> {
  const { agent, turns } = job.data;
  const delays = await Promise.all(turns.map((turn) => delayOf(agent, turn, options)));
  const [only] = delays;
  if (turns.length === 1 && only !== undefined) {
    await job.moveToDelayed(Date.now() + only, token);
    throw new DelayedError();
  }
  const late = turns.flatMap((turn, i) => {
    const delay = delays[i];
    return delay === undefined ? [] : [jobOf(agent, [turn], delay)];
  });
  if (late.length > 0) await queue.addBulk(late);
}

/** In how many milliseconds to come back to a lane, after working it. */
async function delayOf(
  agent: string,
  turn: LaneTurn,
  { run, onError }: LaneQueueOptions,
): Promise<number | undefined> {
  try {
    const delay = await run(agent, turn);
    return delay === undefined ? undefined : Math.ceil(delay);
  } catch (error) {
    onError(error);
    return ERROR_DELAY_MS;
  }
}

function connect(
  target: RedisTarget,
  extra: Pick<RedisOptions, "maxRetriesPerRequest" | "enableOfflineQueue">,
) {
  const retryStrategy = (times: number) => Math.min(50 * 2 ** Math.min(times, 5), RECONNECT_CAP_MS);
  const base: RedisOptions = { ...extra, retryStrategy, lazyConnect: false };
  switch (target.kind) {
    case "single":
      return new Redis(target.url, base);
    case "socket":
      return new Redis({ ...base, path: target.path });
    case "sentinel":
      return new Redis({
        ...base,
        ...credentialsOf(target),
        name: target.name,
        sentinels: target.nodes.map(({ host, port }) => ({ host, port })),
        sentinelRetryStrategy: retryStrategy,
      });
    case "cluster": {
      const options: ClusterOptions = {
        clusterRetryStrategy: retryStrategy,
        enableOfflineQueue: extra.enableOfflineQueue ?? true,
        redisOptions: {
          ...extra,
          ...credentialsOf(target),
          ...(target.tls === true ? { tls: {} } : {}),
        },
      };
      return new Cluster(
        target.nodes.map(({ host, port }) => ({ host, port })),
        options,
      );
    }
  }
}

function credentialsOf(target: { readonly username?: string; readonly password?: string }) {
  return {
    ...(target.username === undefined ? {} : { username: target.username }),
    ...(target.password === undefined ? {} : { password: target.password }),
  };
}
