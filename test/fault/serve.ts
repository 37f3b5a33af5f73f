import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ServeProcess, startServe } from "../cli/processes.ts";
import { createVendor, type Vendor } from "../gateway.ts";
import { startTestRedis } from "../redis-server.ts";
import { Peer, TestWorker, workerTransport } from "../scenarios/actors.ts";
import type { Driver, DriverKind } from "../scenarios/driver.ts";
import { grpcDriver } from "../scenarios/drivers/grpc.ts";

const ADMIN_TOKEN = "admin-token-for-tests-only";
const bucket = { perSecond: 100_000, burst: 100_000 };

/** A gateway as a process that can be killed and started again on the same data. */
export class Mortal {
  readonly #folder: string;
  readonly #redisUrl: string | undefined;
  readonly #drivers: Driver[] = [];
  #serve: ServeProcess;

  private constructor(folder: string, redisUrl: string | undefined, serve: ServeProcess) {
    this.#folder = folder;
    this.#redisUrl = redisUrl;
    this.#serve = serve;
  }

  /** With a Redis of its own, or on the given one. `document` is laid over the configuration. */
  static async start(redisUrl?: string, document: Record<string, unknown> = {}): Promise<Mortal> {
    const folder = await mkdtemp(join(tmpdir(), "baton-fault-"));
    const config = { limits: { perAddress: bucket, perEndpoint: bucket, send: bucket }, ...document };
    await writeFile(join(folder, "baton.yaml"), JSON.stringify(config));
    return new Mortal(folder, redisUrl, await Mortal.#start(folder, redisUrl));
  }

  static #start(folder: string, redisUrl: string | undefined): Promise<ServeProcess> {
    return startServe(join(folder, "data"), {
      cwd: folder,
      env: {
        BATON_ADMIN_TOKEN: ADMIN_TOKEN,
        ...(redisUrl === undefined ? {} : { BATON_REDIS_URL: redisUrl }),
      },
    });
  }

  get url(): string {
    return this.#serve.url;
  }

  /** kill -9, and waits until the process is gone. */
  async kill(): Promise<void> {
    await this.#serve.end("SIGKILL");
  }

  /** SIGTERM, and waits until the process is gone. */
  async terminate(): Promise<void> {
    for (const driver of this.#drivers.splice(0)) await driver.close();
    await this.#serve.end("SIGTERM");
  }

  /** All that the process of now has written. */
  get output(): string {
    return this.#serve.lines.all.join("\n");
  }

  async restart(): Promise<void> {
    this.#serve = await Mortal.#start(this.#folder, this.#redisUrl);
  }

  get vendor(): Vendor {
    return createVendor(this.#serve.adminUrl, ADMIN_TOKEN);
  }

  /** A peer of the process that runs now. */
  async peer(token: string, kind: DriverKind = grpcDriver): Promise<Peer> {
    const driver = await kind.connect({ url: this.url, authority: new URL(this.url).host });
    this.#drivers.push(driver);
    return new Peer(driver, { token });
  }

  worker(token: string): TestWorker {
    return new TestWorker(workerTransport(this.url, token));
  }

  async stop(): Promise<void> {
    for (const driver of this.#drivers) await driver.close();
    await this.#serve.end("SIGKILL");
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Two gateways, each a process of its own, on one Redis. */
export interface Pair {
  readonly first: Mortal;
  readonly second: Mortal;
  stop(): Promise<void>;
}

export async function startPair(): Promise<Pair> {
  const redis = await startTestRedis();
  const { url } = redis.server;
  const [first, second] = await Promise.all([Mortal.start(url), Mortal.start(url)]);
  return {
    first,
    second,
    async stop() {
      await Promise.all([first.stop(), second.stop()]);
      await redis.stop();
    },
  };
}
