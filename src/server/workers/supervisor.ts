/**
 * The primary of a gateway with several processes. It serves nobody: it owns the embedded Redis, starts a worker again
 * that died, and ends them all.
 *
 * Each worker binds the ports itself and the system deals the connections out (SO_REUSEPORT). Where it cannot, the
 * primary does, in turn; there a connection on its way to a worker that is killed in that moment is never answered, as
 * node:cluster forgets it.
 */
import cluster, { type Worker } from "node:cluster";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../config/schema.ts";
import { resolveAdminToken } from "../admin-token.ts";
import type { ServerLog } from "../log.ts";
import { openRedisSource, type RedisSource } from "../redis-source.ts";
import {
  type Addresses,
  ORDERS_VARIABLE,
  type ToPrimary,
  type ToWorker,
  type WorkerOrders,
} from "./messages.ts";
import { Restarts } from "./restarts.ts";
import { Surveys } from "./survey.ts";
import { Totals } from "./totals.ts";
import { Watchdog, type WatchdogOptions } from "./watchdog.ts";

export interface SupervisorOptions {
  readonly config: Config;
  readonly log: ServerLog & { info(fields: object, message: string): void };
  /** When a worker that answers nothing counts as hung. Default: after half a minute. */
  readonly watch?: Watch;
}

/** `everyMs`, in milliseconds, between two questions; `misses` of them without an answer are the end. */
export type Watch = Pick<WatchdogOptions, "everyMs" | "misses">;

export interface Supervisor extends Addresses {
  /** Resolves with the reason when the workers cannot be kept alive, or the embedded Redis ended by itself. */
  readonly lost: Promise<string>;
  /** Drains all workers at once; whatever is left a while after `graceMs` is killed. */
  stop(graceMs: number): Promise<void>;
}

/** What a worker may take beyond delay and grace, to close what it holds, in milliseconds. */
const CLOSING_MS = 5000;

/**
 * Between two tries where the system has no process to give, in milliseconds. That says nothing about the workers that
 * serve, so it is tried for as long as they do.
 */
const SCARCE_MS = 2000;

const WATCH: Watch = { everyMs: 5000, misses: 6 };

/** Systems on which Node binds a port several times; elsewhere it refuses. */
const REUSE_PORT = new Set<string>(["linux", "freebsd", "dragonfly", "sunos", "aix"]);

/** Starts `config.workers` workers and resolves when all of them serve. Rejects, with nothing left, when one cannot. */
export async function startWorkers({ config, log, watch = WATCH }: SupervisorOptions): Promise<Supervisor> {
  // Before the first worker: two of them must not make two.
  await resolveAdminToken(config);
  const source = await openRedisSource(config, (line) => log.info({}, line));
  const pool = new Pool(config, source, { log, watch });
  try {
    // Without the role `gateway` the port for callers is not opened, and may well be that of the set that has it.
    const opened = config.roles.includes("gateway") ? [config.listen, config.admin] : [config.admin];
    for (const { host, port } of opened) await checkFree(host, port);
    const addresses = await pool.start(opened.some(({ port }) => port === 0));
    return {
      ...addresses,
      lost: Promise.race([pool.lost, source.lost.then(() => "The embedded Redis ended by itself")]),
      async stop(graceMs) {
        await pool.stop(graceMs);
        await source.stop();
      },
    };
  } catch (error) {
    await pool.stop(0);
    await source.stop();
    throw error;
  }
}

/** Rejects where somebody has the port: another gateway that lets it be reused would take half of the connections. */
async function checkFree(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, exclusive: true }, resolve);
  });
  await new Promise((resolve) => server.close(resolve));
}

class Pool {
  readonly lost: Promise<string>;
  readonly #places: (Worker | undefined)[];
  #orders: Omit<WorkerOrders, "number">;
  readonly #log: SupervisorOptions["log"];
  readonly #watched: Watch;
  readonly #restarts = new Restarts();
  readonly #surveys = new Surveys();
  readonly #totals = new Totals();
  readonly #giveUp: (reason: string) => void;
  /** How long a worker serves on after it was told to stop. */
  readonly #delayMs: number;
  #stopping = false;

  constructor(
    { workers, drain }: Config,
    source: RedisSource,
    { log, watch }: Required<Pick<SupervisorOptions, "log" | "watch">>,
  ) {
    this.#places = Array.from({ length: workers }, () => undefined);
    this.#delayMs = drain.delaySeconds * 1000;
    const { target } = source;
    this.#orders = {
      reusePort: REUSE_PORT.has(process.platform),
      ...(source.embedded && target.kind === "socket" ? { embeddedSocket: target.path } : {}),
    };
    this.#log = log;
    this.#watched = watch;
    const lost = Promise.withResolvers<string>();
    this.lost = lost.promise;
    this.#giveUp = lost.resolve;
    // Where the primary has to do it: the other policy lets one worker take nearly all.
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  /**
   * The first start of all: a worker that fails now has a fault that the next one would have as well. `findPorts`: the
   * first worker takes what is free, and all others take the same.
   */
  async start(findPorts: boolean): Promise<Addresses> {
    const first = this.#fork(0);
    if (findPorts) {
      const { url, adminUrl } = await first;
      // No role `gateway`, no address for callers.
      const portOf = (text: string) => (text === "" ? 0 : Number(new URL(text).port));
      this.#orders = { ...this.#orders, ports: { main: portOf(url), admin: portOf(adminUrl) } };
    }
    const others = this.#places.slice(1).map((_, index) => this.#fork(index + 1));
    await Promise.all([first, ...others]);
    return first;
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    const alive = this.#places.filter((worker) => worker !== undefined);
    const ended = Promise.all(alive.map(gone));
    for (const worker of alive) send(worker, { kind: "stop", graceMs });
    const late = new AbortController();
    const limit = sleep(this.#delayMs + graceMs + CLOSING_MS, "late", { signal: late.signal }).catch(
      () => "ended",
    );
    if ((await Promise.race([ended, limit])) === "late") {
      this.#log.warn({}, "workers did not end in time: killing them");
      for (const worker of alive) worker.process.kill("SIGKILL");
      await ended;
    }
    late.abort();
  }

  #fork(place: number): Promise<Addresses> {
    const orders: WorkerOrders = { ...this.#orders, number: place + 1 };
    const begun = performance.now();
    const started = Promise.withResolvers<Addresses>();
    // Whoever started it may not be waiting any more.
    started.promise.catch(() => {});
    const notMade = (error: unknown): void => {
      const why = error instanceof Error ? error.message : String(error);
      started.reject(new Error(`worker ${place + 1} could not be started (${why})`));
      this.#places[place] = undefined;
      this.#again(place, SCARCE_MS, `no process for worker ${place + 1} (${why}): trying again`);
    };
    let worker: Worker;
    try {
      worker = cluster.fork({ [ORDERS_VARIABLE]: JSON.stringify(orders) });
    } catch (error) {
      notMade(error);
      return started.promise;
    }
    this.#places[place] = worker;
    let served = false;
    let watchdog: Watchdog | undefined;
    worker.on("message", (message: ToPrimary) => {
      watchdog?.heard();
      if (message.kind === "ready") {
        served = true;
        watchdog = this.#watch(place, worker);
        const { kind: _, ...addresses } = message;
        started.resolve(addresses);
      } else if (message.kind === "failed") started.reject(new Error(message.message));
      else if (message.kind === "answer") {
        const { id, value } = message;
        // What was still on its way when it ended must not be counted beside what is kept of it.
        const alive = this.#places[place] === worker;
        if (alive && value !== null && "own" in value) this.#totals.told(place, value);
        this.#surveys.take(id, value);
      } else if (message.kind === "survey") void this.#survey(worker, message);
    });
    // With a process it is about its line alone, and the end of the process is told by itself.
    worker.on("error", (error) => {
      if (worker.process.pid === undefined) notMade(error);
    });
    worker.once("exit", (code, signal) => {
      watchdog?.stop();
      this.#places[place] = undefined;
      this.#totals
        .ended(place)
        .catch((error: unknown) => this.#log.error({ err: error }, "metrics of ended workers do not add up"));
      started.reject(new Error(`worker ${place + 1} ended before it served (${signal ?? `code ${code}`})`));
      if (!this.#stopping) this.#died(place, served, performance.now() - begun, signal ?? `code ${code}`);
    });
    return started.promise;
  }

  /** From when it serves: a start may take long where the machine has a lot else to do. */
  #watch(place: number, worker: Worker): Watchdog {
    return new Watchdog({
      ...this.#watched,
      ask: () => send(worker, { kind: "ping" }),
      onSilent: () => {
        this.#log.warn({ kind: "worker" }, `worker ${place + 1} hangs: killing it`);
        worker.process.kill("SIGKILL");
      },
    });
  }

  #died(place: number, served: boolean, livedMs: number, how: string): void {
    const pause = this.#restarts.died(livedMs);
    if (pause === undefined) {
      this.#giveUp("The workers die as soon as they are started: giving up");
      return;
    }
    const again = `worker ${place + 1} ended (${how})${served ? "" : " before it served"}: starting another`;
    this.#again(place, pause, again);
  }

  #again(place: number, pause: number, why: string): void {
    if (this.#stopping) return;
    this.#log.warn({ kind: "worker", waitMs: pause }, why);
    setTimeout(() => {
      if (this.#stopping) return;
      this.#fork(place).then(
        () => this.#log.info({}, `worker ${place + 1} serves again`),
        (error: unknown) => this.#log.error({ err: error }, `worker ${place + 1} did not start`),
      );
    }, pause);
  }

  async #survey(asker: Worker, { id, question }: Extract<ToPrimary, { kind: "survey" }>): Promise<void> {
    const asked = this.#places.map((worker) =>
      worker === undefined ? undefined : { send: (message: ToWorker) => send(worker, message) },
    );
    const answers = await this.#surveys.ask(question, asked);
    if (question === "metrics") {
      // Not the answers alone: what ended workers counted, and those told before that did not answer in time.
      const totals = this.#totals.all().map((value) => ({ worker: 0, value }));
      send(asker, { kind: "survey", id, answers: totals });
    } else send(asker, { kind: "survey", id, answers });
  }
}

/** A worker that has just died takes no message; its exit is handled where it is told of. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}

function gone(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    if (worker.isDead()) resolve();
    else worker.once("exit", () => resolve());
  });
}
