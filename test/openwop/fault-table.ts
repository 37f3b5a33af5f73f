/**
 * Faults between Baton and its host, by seed. After each the task must be what the run is, with one run for one message, no
 * status told twice, and nothing of the host's errors shown. `FAULT_SEEDS` says how many seeds each row gets.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FAULT_TEXT, type Fault, type RouteName } from "../../examples/openwop-host/faults.ts";
import { type OpenWopHost, startOpenWopHost } from "../../examples/openwop-host/host.ts";
import { type StreamResponse, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { TaskFeed } from "../../src/store/task-feed.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { eventually, type Json, RpcClient, sleep } from "./rpc.ts";
import { openwopAgent } from "./setup.ts";

const SEEDS = Number(process.env.FAULT_SEEDS ?? 10);
/** The first seed: to repeat one. */
const FIRST = Number(process.env.FAULT_FIRST_SEED ?? 1);
const TIMEOUT = 60_000 + SEEDS * 6000;

/** Small, repeatable random numbers (mulberry32). */
function random(seed: number): (below: number) => number {
  let state = seed * 0x9e3779b1;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

interface Scene {
  readonly host: OpenWopHost;
  /** Every event of a task, from the log that all subscribers are fed from. */
  log(taskId: string): Promise<StreamResponse[]>;
  readonly client: RpcClient;
  /** Another replica, or the same gateway. */
  readonly other: RpcClient;
  readonly pick: (below: number) => number;
}

/** A client retries what it was told to try again, with the same message id. */
async function persist(client: RpcClient, message: Json, seen: string[]): Promise<Json> {
  for (let attempt = 0; attempt < 60; attempt++) {
    const answer = await client.call("SendMessage", {
      message: { role: "ROLE_USER", ...message },
      configuration: { returnImmediately: attempt % 2 === 1 },
    });
    seen.push(JSON.stringify(answer.body));
    if (answer.result?.task !== undefined) return answer.result.task;
    // Somebody answered before, or the answer was given and its acknowledgement lost.
    if (message.taskId !== undefined && answer.error.code === -32004) return client.task(message.taskId);
    if (![-32603, -32000].includes(answer.error.code)) throw new Error(JSON.stringify(answer.body));
    await sleep(60);
  }
  throw new Error("never accepted");
}

/** The whole journey of one task while faults happen; then the comparison with the host's truth. */
async function journey(scene: Scene, faults: (step: number) => void | Promise<void>): Promise<void> {
  const { host, client, other, pick } = scene;
  const { engine } = host.state;
  const before = engine.created;
  const seen: string[] = [];
  const watched: Json[] = [];
  const started = { messageId: randomUUID(), parts: [{ text: `seed ${pick(1000)}` }] };
  await faults(0);
  const task = await persist(client, started, seen);
  const stream = watch(other, task.id, watched);
  const answers: Json[] = [{ parts: [{ data: { action: "accept" } }] }, { parts: [{ text: "Ada" }] }];
  for (const [step, answer] of answers.entries()) {
    await faults(step * 2 + 1);
    const kind = step === 0 ? "approval" : "clarification";
    await eventually(
      async () => {
        const { result } = await other.call("GetTask", { id: task.id });
        return (
          result?.status.state === "TASK_STATE_INPUT_REQUIRED" &&
          result.metadata.openwop.interrupt.kind === kind
        );
      },
      `asked for ${kind}`,
      25_000,
    );
    await faults(step * 2 + 2);
    await persist(
      pick(2) === 0 ? client : other,
      { messageId: randomUUID(), taskId: task.id, ...answer },
      seen,
    );
  }
  const done = await client.until(task.id, "TASK_STATE_COMPLETED", 25_000);
  await stream;

  expect(engine.created, "one run for one message").toBe(before + 1);
  const run = engine.runs.get(task.id);
  expect(run?.status).toBe("completed");
  expect(done.artifacts.map(({ artifactId }: Json) => artifactId)).toEqual([
    "plan",
    "build",
    "output-result",
  ]);
  const texts = done.history.map((item: Json) => item.parts[0].text ?? item.parts[0].data.action);
  expect(texts.filter((text: string) => text === "accept" || text === "Ada")).toEqual(["accept", "Ada"]);
  const told = watched.map(
    ({ status }) => `${status.state} ${status.message?.messageId ?? ""} ${status.timestamp}`,
  );
  expect(new Set(told).size, told.join("\n")).toBe(told.length);
  const states = watched.map(({ status }) => status.state);
  const collapsed = states.filter((state, index) => state !== states[index - 1]);
  expect(collapsed, "no state twice in a row").toEqual(states);
  expect(states.at(-1)).toBe("TASK_STATE_COMPLETED");
  expect(seen.join(), "nothing of the host's errors").not.toContain(FAULT_TEXT);
  const log = await scene.log(task.id);
  const logged = log.flatMap(({ payload }) =>
    payload.case === "statusUpdate" ? [payload.value.status?.state] : [],
  );
  const { SUBMITTED, WORKING, INPUT_REQUIRED, COMPLETED } = TaskState;
  const rounds = [INPUT_REQUIRED, WORKING, INPUT_REQUIRED, WORKING, COMPLETED];
  expect(logged.filter((state) => state !== SUBMITTED)).toEqual([WORKING, ...rounds]);
  const made = log.flatMap(({ payload }) =>
    payload.case === "artifactUpdate" ? [payload.value.artifact?.artifactId] : [],
  );
  expect(made, "each artifact once").toEqual(["plan", "build", "output-result"]);
}

/** Collects the status updates of a task to its end, over as many streams as it takes. */
async function watch(client: RpcClient, id: string, into: Json[]): Promise<void> {
  const seqs = new Set<string>();
  for (let attempt = 0; attempt < 200; attempt++) {
    const stream = client.stream("SubscribeToTask", { id });
    await stream.ended.catch(() => {});
    for (const { result, error } of stream.items) {
      if (error?.code === -32004) return;
      const update = result?.statusUpdate;
      if (update === undefined) continue;
      const mark = JSON.stringify(update);
      if (seqs.has(mark)) continue;
      seqs.add(mark);
      into.push(update);
      if (update.status.state === "TASK_STATE_COMPLETED") return;
    }
    await sleep(5);
  }
}

/** The table, for a host of one major. */
export function faultTable(major: 1 | 2): void {
  describe(`faults of a host of major ${major}`, () => rows(major));
}

function rows(major: 1 | 2): void {
  let redis: TestRedis;
  let host: OpenWopHost;
  let gateways: TestGateway[];
  let token: string;
  let feed: TaskFeed;

  beforeAll(async () => {
    redis = await startTestRedis();
    feed = new TaskFeed(await redis.connect());
    host = await startOpenWopHost();
    const document = () => ({
      agents: {
        journey: openwopAgent(host.url, "journey", {
          major,
          timeoutSeconds: 0.25,
          budgetSeconds: 0.6,
          maxWaitSeconds: 1,
        }),
      },
      defaultAgent: "journey",
      redis: { url: redis.server.url },
      streams: { perEndpoint: 1000, endOnInputRequired: false },
    });
    gateways = [await startTestGateway(document()), await startTestGateway(document())];
    token = (await gateways[0]?.vend({})) ?? "";
  });
  afterAll(async () => {
    feed.close();
    for (const gateway of gateways) await gateway.stop();
    await host.stop();
    await redis.stop();
  });

  async function scenes(work: (scene: Scene, seed: number) => Promise<void>): Promise<void> {
    const [first, second] = gateways;
    if (first === undefined || second === undefined) throw new Error("no gateways");
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      host.faults.clear();
      Object.assign(host.state.engine.options, { legacyTwins: false, bareSuspensions: false });
      const pick = random(seed * 2 + major);
      const scene = {
        host,
        log: async (taskId: string) => (await feed.read("journey", taskId, 0)).map(({ message }) => message),
        client: new RpcClient(first.url, token),
        other: new RpcClient(second.url, token),
        pick,
      };
      try {
        await work(scene, seed);
      } catch (error) {
        throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        });
      }
    }
  }
  const add = (fault: Fault) => host.faults.add(fault);

  it("OW-12 no fault at all", () => scenes((scene) => journey(scene, () => {})), TIMEOUT);

  it(
    "OW-12 the stream cut at every event boundary",
    () =>
      scenes((scene, seed) =>
        journey(scene, (step) => {
          if (step > 0) return;
          for (let frames = 0; frames < 6; frames++) {
            add({ route: "events", kind: "cut", times: 1, frames: (frames + seed) % 6 });
          }
        }),
      ),
    TIMEOUT,
  );

  it(
    "OW-12 every frame twice, with the older twins, and cut in between",
    () =>
      scenes((scene) => {
        host.state.engine.options.legacyTwins = true;
        return journey(scene, (step) => {
          add({ route: "events", kind: "twice", times: 5 });
          if (step % 2 === 1) add({ route: "events", kind: "cut", times: 1, frames: scene.pick(4) });
        });
      }),
    TIMEOUT,
  );

  it(
    "OW-12 interrupts that only the snapshot knows",
    () =>
      scenes((scene) => {
        host.state.engine.options.bareSuspensions = true;
        // The plain text answers a question whose id no event told, so it is answered in full.
        return journeyWithIds(scene);
      }),
    TIMEOUT,
  );

  const routes: RouteName[] = ["create", "read", "events", "poll", "resolve", "artifact"];
  const kinds: { kind: Fault["kind"]; status?: number; retryAfterSeconds?: number }[] = [
    { kind: "status", status: 429, retryAfterSeconds: 0 },
    { kind: "status", status: 500 },
    { kind: "status", status: 503 },
    { kind: "reset" },
    { kind: "hang" },
    { kind: "lost" },
  ];
  it.each(routes)(
    "OW-20 OW-35 429, 500, timeouts and lost answers on %s",
    (route) =>
      scenes((scene) =>
        journey(scene, () => {
          const fault = kinds[scene.pick(kinds.length)];
          if (fault === undefined || (route === "events" && fault.kind === "lost")) return;
          add({ route, times: 1 + scene.pick(3), ...fault });
        }),
      ),
    TIMEOUT,
  );

  it(
    "OW-10 the host restarts at any moment",
    () =>
      scenes((scene) =>
        journey(scene, async () => {
          if (scene.pick(3) === 0) return;
          await sleep(scene.pick(30));
          await host.stop();
          setTimeout(() => void host.start(), 20 + scene.pick(200));
        }),
      ),
    TIMEOUT,
  );

  it(
    "OW-29 two replicas and two replies for one question: one wins, and the run goes on once",
    () =>
      scenes(async (scene) => {
        const task = await scene.client.start();
        const replies = await Promise.all(
          [scene.client, scene.other].map((client) => client.decide(task.id, { action: "accept" })),
        );
        const refused = replies.filter(({ error }) => error !== undefined);
        for (const { error } of refused) expect([-32004, -32602]).toContain(error.code);
        expect(refused.length).toBeLessThan(2);
        await scene.client.until(task.id, "TASK_STATE_INPUT_REQUIRED");
        const run = host.state.engine.runs.get(task.id);
        expect(run?.events.filter(({ type }) => type === "approval.received")).toHaveLength(1);
      }),
    TIMEOUT,
  );

  async function journeyWithIds(scene: Scene): Promise<void> {
    const { id } = await scene.client.start();
    const task = await scene.client.until(id, "TASK_STATE_INPUT_REQUIRED");
    const first = await scene.other.decide(task.id, { action: "accept" });
    expect(first.error).toBeUndefined();
    await eventually(
      async () => (await scene.client.task(task.id)).metadata?.openwop?.interrupt?.kind === "clarification",
      "the second question",
    );
    const { result } = await scene.client.decide(task.id, { answers: [{ id: "name", answer: "Ada" }] });
    expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
  }
}
