import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import {
  AlreadySettled,
  artifact,
  data,
  HandlerStopped,
  type Outcome,
  PermanentFailure,
  textOf,
  Worker,
  type WorkerOptions,
} from "../../src/worker/index.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { artifactTexts, statusText, type TestClient, testClient } from "./client.ts";

const { COMPLETED, FAILED, INPUT_REQUIRED, AUTH_REQUIRED, REJECTED, WORKING, SUBMITTED, CANCELED } =
  TaskState;

describe("the worker library", () => {
  let gateway: TestGateway;
  let client: TestClient;
  let credential: string;
  const workers: Worker[] = [];

  beforeAll(async () => {
    gateway = await startTestGateway({
      retries: { baseSeconds: 0.05, maxAttempts: 2 },
      leases: { sweepSeconds: 0.2 },
    });
    client = testClient(gateway.url, await gateway.vend());
    credential = await gateway.vendWorker();
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  });
  afterAll(async () => {
    client.close();
    await gateway.stop();
  });

  function work(handler: WorkerOptions["handler"], options: Partial<WorkerOptions> = {}) {
    const outcomes: Outcome[] = [];
    const errors: Error[] = [];
    const worker = new Worker({
      url: gateway.url,
      credential,
      handler,
      stopGrace: 0,
      onOutcome: (outcome) => outcomes.push(outcome),
      onError: (error) => errors.push(error),
      ...options,
    });
    workers.push(worker);
    worker.start();
    return { worker, outcomes, errors };
  }

  it("completes a todo with the text that the handler returns", async () => {
    const { outcomes } = work(({ text }) => text.toUpperCase());
    const task = await client.until(await client.send("hello"), [COMPLETED]);
    expect(artifactTexts(task)).toEqual({ result: "HELLO" });
    await expect.poll(() => outcomes).toEqual(["completed"]);
  });

  it("works on when a callback throws or rejects, and tells of it", async () => {
    const warnings: string[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning.message);
    process.on("warning", onWarning);
    const told: [string, string | undefined][] = [];
    const { worker } = work(({ text }) => text, {
      onOutcome: (_, { title }) => {
        if (title === "rejects") return Promise.reject(new Error("later"));
        throw new Error("at once");
      },
      onError: (error, todo) => {
        told.push([error.message, todo?.title]);
        if (todo?.title === "rejects") throw new Error("not even told");
      },
    });
    for (const text of ["throws", "rejects", "goes on"]) {
      await client.until(await client.send(text), [COMPLETED]);
    }
    await expect
      .poll(() => told)
      .toEqual([
        ["at once", "throws"],
        ["later", "rejects"],
        ["at once", "goes on"],
      ]);
    await worker.stop();
    process.off("warning", onWarning);
    expect(warnings).toEqual(["onError of the worker threw: not even told"]);
  });

  it("completes with artifacts, parts, or nothing", async () => {
    work(({ text }) => {
      if (text === "artifacts")
        return [artifact("a", { id: "one" }), artifact(data({ b: 1 }), { id: "two" })];
      return text === "part" ? data([1]) : undefined;
    });
    const [artifacts, part, nothing] = await Promise.all(
      ["artifacts", "part", "nothing"].map((t) => client.send(t)),
    );
    expect(artifactTexts(await client.until(artifacts ?? "", [COMPLETED]))).toEqual({
      one: "a",
      two: "(data)",
    });
    expect(artifactTexts(await client.until(part ?? "", [COMPLETED]))).toEqual({ result: "(data)" });
    expect(artifactTexts(await client.until(nothing ?? "", [COMPLETED]))).toEqual({});
  });

  it("SB-10 works on as many todos as its concurrency, each once", async () => {
    const seen: string[] = [];
    let active = 0;
    let most = 0;
    work(
      async ({ todo }) => {
        seen.push(todo.id);
        active += 1;
        most = Math.max(most, active);
        await new Promise((resolve) => setTimeout(resolve, 50));
        active -= 1;
      },
      { concurrency: 3 },
    );
    const ids = await Promise.all(Array.from({ length: 9 }, (_, n) => client.send(`job ${n}`)));
    await Promise.all(ids.map((id) => client.until(id, [COMPLETED])));
    expect(most).toBe(3);
    expect(seen.toSorted()).toEqual(ids.toSorted());
  });

  it("publishes progress and artifacts while it works, and appends in order", async () => {
    const gate = Promise.withResolvers<void>();
    work(async (todo) => {
      await todo.progress("half way");
      await todo.artifact("draft", { id: "paper", name: "Paper" });
      await todo.appendArtifact("paper", ", more");
      await todo.appendArtifact("paper", ", end", { last: true });
      await gate.promise;
    });
    const id = await client.send("write");
    const working = await client.until(id, [WORKING]);
    expect(working.status?.state).toBe(WORKING);
    await expect
      .poll(async () => artifactTexts(await client.a2a.getTask({ id })))
      .toEqual({ paper: "draft, more, end" });
    expect(statusText(await client.a2a.getTask({ id }))).toBe("half way");
    gate.resolve();
    await client.until(id, [COMPLETED]);
  });

  it("SB-28 SB-29 SB-30 SB-74 asks the client, and the same handler goes on with the reply", async () => {
    const attempts: number[] = [];
    work(
      async (todo) => {
        attempts.push(todo.todo.attempt);
        const first = await todo.requireInput("Which colour?");
        const second = await todo.requireInput(`Really ${textOf(first)}?`);
        const said = (await todo.messages()).map(textOf);
        return `${textOf(first)} ${textOf(second)} of ${said.length}`;
      },
      // Shorter than the client takes to answer: the lease must stand still.
      { lease: 0.6 },
    );
    const id = await client.send("paint");
    expect(statusText(await client.until(id, [INPUT_REQUIRED]))).toBe("Which colour?");
    await new Promise((resolve) => setTimeout(resolve, 900));
    await client.send("red", id);
    await expect.poll(async () => statusText(await client.a2a.getTask({ id }))).toBe("Really red?");
    await client.send("yes", id);
    const task = await client.until(id, [COMPLETED]);
    expect(artifactTexts(task)).toEqual({ result: "red yes of 5" });
    expect(attempts).toEqual([1]);
  });

  it("SB-74 asks for an authorization, and goes on with a reply or when it was granted elsewhere", async () => {
    const granted = Promise.withResolvers<void>();
    work(async (todo) => {
      const reply = await todo.requireAuth(
        "Please log in",
        todo.text === "here" ? {} : { granted: granted.promise },
      );
      return reply === undefined ? "granted elsewhere" : textOf(reply);
    });
    const here = await client.send("here");
    await client.until(here, [AUTH_REQUIRED]);
    await client.send("done", here);
    expect(artifactTexts(await client.until(here, [COMPLETED]))).toEqual({ result: "done" });
    const elsewhere = await client.send("elsewhere");
    await client.until(elsewhere, [AUTH_REQUIRED]);
    granted.resolve();
    expect(artifactTexts(await client.until(elsewhere, [COMPLETED]))).toEqual({
      result: "granted elsewhere",
    });
  });

  it("spends an attempt for an error, hides its text from the client, and fails when none is left", async () => {
    const attempts: string[][] = [];
    const { outcomes } = work((todo) => {
      attempts.push(todo.priorAttempts.map(({ summary }) => summary));
      throw new Error("password hunter2 refused");
    });
    const task = await client.until(await client.send("break"), [FAILED]);
    expect(attempts).toEqual([[], ["Error: password hunter2 refused"]]);
    expect(statusText(task)).toBe("The worker could not finish this attempt.");
    await expect.poll(() => outcomes).toEqual(["failed", "failed"]);
  });

  it("does not retry a PermanentFailure, and tells the client why", async () => {
    let runs = 0;
    work(() => {
      runs += 1;
      throw new PermanentFailure("there is no such city");
    });
    const task = await client.until(await client.send("weather"), [FAILED]);
    expect(statusText(task)).toBe("there is no such city");
    expect(runs).toBe(1);
  });

  it("fails with a reason, rejects and releases on request; what is returned then is ignored", async () => {
    const errors: unknown[] = [];
    const { outcomes } = work(async (todo) => {
      if (todo.text === "reject") await todo.reject("not my kind of work");
      else if (todo.text === "fail") await todo.fail({ reason: "no paper", permanent: true });
      else if (todo.priorAttempts.length === 0) await todo.release("not now");
      else return "second time";
      await todo.progress("too late").catch((error: unknown) => errors.push(error));
      return "ignored";
    });
    const rejected = await client.until(await client.send("reject"), [REJECTED]);
    expect([statusText(rejected), rejected.artifacts]).toEqual(["not my kind of work", []]);
    expect(statusText(await client.until(await client.send("fail"), [FAILED]))).toBe("no paper");
    const released = await client.until(await client.send("release"), [COMPLETED]);
    expect(artifactTexts(released)).toEqual({ result: "second time" });
    expect(errors).toHaveLength(3);
    for (const error of errors) expect(error).toBeInstanceOf(AlreadySettled);
    await expect.poll(() => outcomes).toEqual(["rejected", "failed", "released", "completed"]);
  });

  it("SB-40 aborts the handler of a canceled task and drops its outcome quietly", async () => {
    const reasons: unknown[] = [];
    const { outcomes, errors } = work(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      reasons.push(signal.reason);
      return "too late";
    });
    const id = await client.send("long");
    await client.until(id, [WORKING]);
    await client.a2a.cancelTask({ id });
    await expect.poll(() => outcomes).toEqual(["dropped"]);
    expect(reasons[0]).toBeInstanceOf(HandlerStopped);
    expect((reasons[0] as HandlerStopped).why).toBe("canceled");
    expect(errors).toEqual([]);
    expect((await client.a2a.getTask({ id })).status?.state).toBe(CANCELED);
  });

  it("SB-40 ends a question when the task is canceled", async () => {
    const { outcomes, errors } = work(async (todo) => textOf(await todo.requireInput("Well?")));
    const id = await client.send("ask");
    await client.until(id, [INPUT_REQUIRED]);
    await client.a2a.cancelTask({ id });
    await expect.poll(() => outcomes).toEqual(["dropped"]);
    expect(errors).toEqual([]);
  });

  it("keeps its lease for longer than it is", async () => {
    const { outcomes } = work(() => new Promise((resolve) => setTimeout(resolve, 1500, "slow")), {
      lease: 0.5,
    });
    const task = await client.until(await client.send("slow"), [COMPLETED]);
    expect(artifactTexts(task)).toEqual({ result: "slow" });
    await expect.poll(() => outcomes).toEqual(["completed"]);
  });

  it("gives a running todo back unspent when it stops", async () => {
    const began = Promise.withResolvers<void>();
    const first = work(({ signal }) => {
      began.resolve();
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const id = await client.send("interrupted");
    await began.promise;
    await first.worker.stop();
    expect(first.outcomes).toEqual(["released"]);
    expect((await client.a2a.getTask({ id })).status?.state).toBe(SUBMITTED);
    work(({ todo }) => `attempt ${todo.attempt}`);
    expect(artifactTexts(await client.until(id, [COMPLETED]))).toEqual({ result: "attempt 1" });
  });

  it("gives a todo back whose handler does not heed its signal, and lets one finish within the grace", async () => {
    const [began, beganAgain] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const deaf = work(() => {
      began.resolve();
      return new Promise(() => {});
    });
    const id = await client.send("deaf");
    await began.promise;
    await deaf.worker.stop();
    expect((await client.a2a.getTask({ id })).status?.state).toBe(SUBMITTED);
    const slow = () => {
      beganAgain.resolve();
      return new Promise<string>((resolve) => setTimeout(resolve, 300, "done"));
    };
    const patient = work(slow, { stopGrace: 10 });
    await beganAgain.promise;
    await patient.worker.stop();
    expect(patient.outcomes).toEqual(["completed"]);
    await client.until(id, [COMPLETED]);
  });

  it("ends with an error when the credential is refused or meant for another agent", async () => {
    const options = { url: gateway.url, handler: () => undefined };
    await expect(new Worker({ ...options, credential: "wrong" }).run()).rejects.toThrow(/invalid or revoked/);
    await expect(new Worker({ ...options, credential, queue: "other" }).run()).rejects.toThrow(/queue/);
    const id = await client.send("for another");
    const stranger = new Worker({ ...options, credential, agent: "someone" });
    await expect(stranger.run()).rejects.toThrow('for the agent "default", not for "someone"');
    expect((await client.a2a.getTask({ id })).status?.state).toBe(SUBMITTED);
    work(() => undefined);
    await client.until(id, [COMPLETED]);
  });

  it("runs until its signal aborts", async () => {
    const stop = new AbortController();
    const worker = new Worker({ url: gateway.url, credential, handler: () => "ran" });
    const ran = worker.run(stop.signal);
    await client.until(await client.send("run"), [COMPLETED]);
    stop.abort();
    await ran;
    expect(worker.active).toBe(0);
  });

  it("refuses options that cannot work", () => {
    const good = { url: "http://127.0.0.1:1", credential: "c", handler: () => undefined };
    expect(() => new Worker({ ...good, url: "127.0.0.1:7420" })).toThrow(/http or https/);
    expect(() => new Worker({ ...good, credential: " " })).toThrow(/credential/);
    expect(() => new Worker({ ...good, concurrency: 0 })).toThrow(/concurrency/);
    expect(() => new Worker({ ...good, lease: 0 })).toThrow(/lease/);
  });
});

describe("a worker with more todos than its endpoint may have open streams", () => {
  it("SB-40 SB-47 hears of cancellations and replies all the same", async () => {
    const gateway = await startTestGateway({ streams: { perEndpoint: 1 } });
    const client = testClient(gateway.url, await gateway.vend());
    const whys: string[] = [];
    const worker = new Worker({
      url: gateway.url,
      credential: await gateway.vendWorker(),
      concurrency: 4,
      stopGrace: 0,
      async handler(todo) {
        if (todo.text === "ask") return textOf(await todo.requireInput("Well?"));
        await new Promise((resolve) => todo.signal.addEventListener("abort", resolve));
        whys.push(todo.signal.reason.why);
        return undefined;
      },
    });
    worker.start();
    try {
      const ids = await Promise.all(["wait", "wait", "wait"].map((text) => client.send(text)));
      const asking = await client.send("ask");
      await Promise.all(ids.map((id) => client.until(id, [WORKING])));
      await client.until(asking, [INPUT_REQUIRED]);
      await Promise.all(ids.map((id) => client.a2a.cancelTask({ id })));
      await client.send("fine", asking);
      expect(artifactTexts(await client.until(asking, [COMPLETED]))).toEqual({ result: "fine" });
      await expect.poll(() => whys, { timeout: 8000 }).toEqual(["canceled", "canceled", "canceled"]);
    } finally {
      await worker.stop();
      client.close();
      await gateway.stop();
    }
  });
});
