import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import {
  type Outcome,
  type TodoContext,
  textOf,
  Worker,
  type WorkerOptions,
} from "../../src/worker/index.ts";
import { portsOf, runCli, type ServeProcess, startServe } from "../cli/processes.ts";
import { artifactTexts, type TestClient, testClient } from "./client.ts";

const { COMPLETED, WORKING, INPUT_REQUIRED } = TaskState;

describe("a worker whose gateway is killed", () => {
  let folder: string;
  let serve: ServeProcess;
  let client: TestClient;
  let credential: string;
  let worker: Worker | undefined;
  let outcomes: Outcome[];
  let errors: Error[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "baton-outage-"));
    // The test looks more often than a client would.
    const bucket = { perSecond: 10_000, burst: 10_000 };
    const config = {
      leases: { sweepSeconds: 0.2 },
      retries: { baseSeconds: 0 },
      limits: { perAddress: bucket, perEndpoint: bucket },
    };
    await writeFile(join(folder, "baton.yaml"), JSON.stringify(config));
    serve = await startServe(join(folder, "data"), { cwd: folder });
    client = testClient(serve.url, await vend("--submit"));
    credential = await vend("--work");
    outcomes = [];
    errors = [];
  });
  afterEach(async () => {
    await worker?.stop();
    worker = undefined;
    client.close();
    await serve.end("SIGKILL");
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  async function vend(kind: string): Promise<string> {
    const args = ["endpoint", "create", "--name", "test", kind, "--admin-url", serve.adminUrl];
    const { stdout } = await runCli(args, { cwd: folder, env: { BATON_DATA_DIR: join(folder, "data") } });
    return stdout.trim();
  }

  async function restart(): Promise<void> {
    serve = await startServe(join(folder, "data"), { cwd: folder, ports: portsOf(serve) });
  }

  function work(handler: (todo: TodoContext) => Promise<string>, options: Partial<WorkerOptions> = {}): void {
    worker = new Worker({
      url: serve.url,
      credential,
      handler,
      stopGrace: 0,
      onOutcome: (outcome) => outcomes.push(outcome),
      onError: (error) => errors.push(error),
      ...options,
    });
    worker.start();
  }

  it("SB-10 delivers the result of a handler that ran on, once the gateway is back", async () => {
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    work(async () => {
      runs += 1;
      await gate.promise;
      return "worth waiting for";
    });
    const id = await client.send("survive");
    await client.until(id, [WORKING]);
    // The log of the store is on disk within a second.
    await sleep(1200);
    await serve.end("SIGKILL");
    gate.resolve();
    await sleep(500);
    expect(outcomes).toEqual([]);
    await restart();
    const task = await client.until(id, [COMPLETED]);
    expect(artifactTexts(task)).toEqual({ result: "worth waiting for" });
    await expect.poll(() => outcomes).toEqual(["completed"]);
    expect(runs).toBe(1);
    expect(errors.length).toBeGreaterThan(0);
  });

  it("SB-29 hears the reply to a question that was asked before the gateway was killed", async () => {
    work(async (todo) => textOf(await todo.requireInput("Which one?")));
    const id = await client.send("ask");
    await client.until(id, [INPUT_REQUIRED]);
    await sleep(1200);
    await serve.end("SIGKILL");
    await sleep(300);
    await restart();
    await client.send("that one", id);
    expect(artifactTexts(await client.until(id, [COMPLETED]))).toEqual({ result: "that one" });
  });

  it("SB-16 stops the handler when the lease runs out meanwhile, and the todo is done anew", async () => {
    const reasons: unknown[] = [];
    let runs = 0;
    work(
      async ({ signal }) => {
        runs += 1;
        if (runs > 1) return "second attempt";
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        reasons.push(signal.reason);
        return "first attempt";
      },
      { lease: 2 },
    );
    const id = await client.send("lapse");
    await client.until(id, [WORKING]);
    await sleep(1200);
    await serve.end("SIGKILL");
    await expect.poll(() => reasons.length, { timeout: 5000 }).toBe(1);
    expect(reasons[0]).toMatchObject({ why: "lease-lost" });
    await restart();
    expect(artifactTexts(await client.until(id, [COMPLETED]))).toEqual({ result: "second attempt" });
    await expect.poll(() => outcomes).toEqual(["dropped", "completed"]);
  });
});
