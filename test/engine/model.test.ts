import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ArtifactSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { agentSays } from "./client.ts";
import { Model, type ModelTodo, type Outcome, type Worker } from "./model.ts";
import { type Engine, holder, type Rig, startEngine } from "./rig.ts";

const FULL = process.env.BATON_PROOF === "full";
/** Steps in all, and steps before the slate is wiped: long lives and many different ones. */
const STEPS = FULL ? 10_000 : 600;
const LIFE = 100;

const OWNERS = ["ep_s1", "ep_s2"] as const;
const QUEUES = ["default", "other"] as const;
const WORKERS: readonly Worker[] = [
  { id: "ep_w1", queues: ["default", "other"] },
  { id: "ep_w2", queues: ["default"] },
];
const FENCES = ["", "f1", "f2"] as const;
const HOUR = 3_600_000;

/** What can happen. `pick` chooses a todo among those that are, and now and then one that is not. */
const step = fc.record({
  act: fc.oneof(
    { weight: 8, arbitrary: fc.constant("create" as const) },
    { weight: 12, arbitrary: fc.constantFrom("claim" as const, "claimById" as const) },
    {
      weight: 30,
      arbitrary: fc.constantFrom(
        ...(["complete", "fail", "release", "reject", "heartbeat", "progress", "artifact"] as const),
        ...(["requireInput", "requireAuth", "message", "message", "cancel", "retry"] as const),
      ),
    },
    {
      weight: 10,
      arbitrary: fc.constantFrom("lapse" as const, "due" as const, "overdue" as const, "sweep" as const),
    },
    { weight: 1, arbitrary: fc.constant("revoke" as const) },
  ),
  pick: fc.nat(1000),
  owner: fc.constantFrom(...OWNERS),
  worker: fc.constantFrom(...WORKERS),
  /** Mostly the one that would be right. */
  wrong: fc.nat(9),
  queue: fc.constantFrom(...QUEUES),
  fence: fc.constantFrom(...FENCES),
  key: fc.constantFrom("", "", "k1", "k2"),
  messageId: fc.nat(60),
  body: fc.constantFrom("a", "a", "a", "b"),
  max: fc.integer({ min: 1, max: 3 }),
  assignee: fc.constantFrom("", "", "", "ep_w1", "ep_w2"),
  flag: fc.boolean(),
});
type Drawn = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Step = Omit<Drawn, "owner" | "fence"> & { readonly owner: string; readonly fence: string };

const held = ({ state }: ModelTodo) => state === "claimed";
const asked = ({ state }: ModelTodo) => state === "input-required" || state === "auth-required";

/** Where an act has something to do: mostly such a todo is chosen, so that lives do not end early. */
const FIT: Readonly<Record<string, (todo: ModelTodo) => boolean>> = {
  claimById: ({ state }) => state === "pending",
  ...{ complete: held, fail: held, reject: held, requireInput: held, requireAuth: held, progress: held },
  ...{ artifact: held, lapse: held, overdue: asked },
  release: ({ holder }) => holder !== "",
  heartbeat: ({ holder }) => holder !== "",
  message: asked,
  retry: ({ state }) => state === "failed",
  due: ({ parked }) => parked,
};

class Run {
  readonly rig: Rig;
  readonly model = new Model();
  /** Ids of the engine by name in the model. */
  readonly #ids = new Map<string, string>();
  #count = 0;

  constructor(rig: Rig) {
    this.rig = rig;
  }

  id(name: string): string {
    return this.#ids.get(name) ?? "td_never";
  }

  /** Does one thing on both sides and compares: the answer first, then every record that it may have touched. */
  async step(input: Step): Promise<void> {
    const fit = input.wrong > 2 ? this.model.todos.filter((each) => FIT[input.act]?.(each) ?? true) : [];
    const choice = fit.length > 0 ? fit : this.model.todos;
    const todo = input.pick % 25 === 0 ? undefined : choice[input.pick % (choice.length || 1)];
    const name = todo?.name ?? "never";
    // A worker mostly acts on what it holds, with the token that it has.
    const right = WORKERS.find(({ id }) => id === todo?.holder);
    const worker = input.wrong > 0 && right !== undefined ? right : input.worker;
    const fence = input.wrong > 1 && right !== undefined ? (todo?.fence ?? "") : input.fence;
    const owner = input.wrong > 0 && todo !== undefined ? todo.owner : input.owner;
    const [expected, actual] = await this.#both({ ...input, worker, fence, owner }, name, todo);
    expect(actual, `${input.act} of ${name}`).toBe(expected);
    await this.check(
      todo === undefined || ["create", "claim", "sweep", "revoke"].includes(input.act)
        ? this.model.todos
        : [todo],
    );
  }

  async #both(input: Step, name: string, todo: ModelTodo | undefined): Promise<readonly [unknown, unknown]> {
    const { model, rig } = this;
    const { worker, fence, owner } = input;
    const id = this.id(name);
    const who = holder("x", { id: worker.id, name: worker.id, queues: worker.queues, fence });
    const text = agentSays("a word");
    switch (input.act) {
      case "create": {
        this.#count += 1;
        const fresh = `t${this.#count}`;
        const made = model.create({
          name: fresh,
          owner,
          queue: input.queue,
          max: input.max,
          assignee: input.assignee,
          key: input.key,
          messageId: `m${input.messageId}`,
          body: input.body,
          refused: input.wrong === 0,
        });
        const result = await rig
          .create({
            owner,
            queue: input.queue,
            maxAttempts: input.max,
            assignee: input.assignee,
            idempotencyKey: input.key,
            messageKey: `m${input.messageId}`,
            bodyHash: input.body,
            rejectWith: input.wrong === 0 ? text : undefined,
          })
          .catch((error: Error) => ({ kind: error.message }) as const);
        if (!("snapshot" in result)) return [made.outcome, result.kind];
        if (result.kind === "created") this.#ids.set(fresh, result.snapshot.task.id);
        const found = [...this.#ids].find(([, each]) => each === result.snapshot.task.id)?.[0];
        const outcome: Outcome = result.kind === "created" ? "ok" : "replay";
        return [`${made.outcome} ${made.todo?.name}`, `${outcome} ${found}`];
      }
      case "claim": {
        const queue = worker.queues.includes(input.queue) ? input.queue : "default";
        const expected = model.claim(worker, queue, fence);
        const result = await rig.claim(who, { queue, ttlMs: 24 * HOUR });
        const found = result.kind === "claimed" ? result.todo.id : "";
        const outcome = result.kind === "claimed" ? "ok" : result.kind;
        return [
          `${expected.outcome} ${expected.todo === undefined ? "" : this.id(expected.todo.name)}`,
          `${outcome} ${found}`,
        ];
      }
      case "claimById": {
        const result = await rig.claim(who, { id, ttlMs: 24 * HOUR });
        return [model.claimById(worker, name, fence), result.kind === "claimed" ? "ok" : result.kind];
      }
      case "heartbeat":
        return [
          model.heartbeat(worker, name, fence),
          (await rig.todos.heartbeat(rig.agent, id, who, 24 * HOUR)).kind,
        ];
      case "complete": {
        const artifacts = input.flag ? [create(ArtifactSchema, { artifactId: "a1" })] : [];
        const result = await rig.finish(who, id, "complete", { artifacts });
        return [model.complete(worker, name, fence, artifacts.length), result.kind];
      }
      case "fail": {
        const ms = input.flag ? HOUR : 0;
        const backoff = { baseMs: ms, capMs: ms, jitter: 0 };
        const permanent = input.wrong === 9;
        const result = await rig.finish(who, id, "fail", { permanent, backoff, message: text });
        return [model.fail(worker, name, fence, permanent, input.flag), result.kind];
      }
      case "release":
        return [model.release(worker, name, fence), (await rig.finish(who, id, "release")).kind];
      case "reject":
        return [
          model.reject(worker, name, fence),
          (await rig.finish(who, id, "reject", { message: text })).kind,
        ];
      case "requireInput":
        return [
          model.interrupt(worker, name, fence, "input-required"),
          (await rig.interrupt(who, id, "require_input")).kind,
        ];
      case "requireAuth":
        return [
          model.interrupt(worker, name, fence, "auth-required"),
          (await rig.interrupt(who, id, "require_auth")).kind,
        ];
      case "progress":
        return [
          model.progress(worker, name, fence),
          (await rig.todos.progress(rig.agent, id, who, { message: text })).kind,
        ];
      case "artifact": {
        const artifact = create(ArtifactSchema, { artifactId: "a2" });
        const chunk = { artifact, append: input.flag, lastChunk: false };
        return [
          model.artifact(worker, name, fence),
          (await rig.todos.progress(rig.agent, id, who, chunk)).kind,
        ];
      }
      case "message": {
        const messageId = `m${input.messageId}`;
        const result = await rig.reply(id, { owner, messageKey: messageId, bodyHash: input.body });
        const words: Readonly<Record<string, string>> = { accepted: "ok", replayed: "replay" };
        return [model.message(owner, name, messageId, input.body), words[result.kind] ?? result.kind];
      }
      case "cancel": {
        const result = await rig.cancel(id, owner);
        return [model.cancel(owner, name, true), result.kind === "canceled" ? "ok" : result.kind];
      }
      case "retry":
        return [model.retry(name), (await rig.todos.retry(rig.agent, id, "operator")).kind];
      case "revoke":
        return [model.revoke(owner), await rig.revoke(owner)];
      case "sweep":
        model.sweep();
        await rig.sweep({ interruptLimitMs: HOUR });
        return [0, 0];
      // Time, in the only form that the engine knows it: what its records say.
      case "lapse":
        if (todo?.state === "claimed") {
          todo.lapsed = true;
          await rig.setField(id, "lease", (await rig.now()) - 1, "leased", todo.queue);
        }
        return [0, 0];
      case "due":
        if (todo?.parked === true) {
          todo.parked = false;
          await rig.setField(id, "nb", (await rig.now()) - 1, "delayed", todo.queue);
        }
        return [0, 0];
      case "overdue":
        if (todo?.state === "input-required" || todo?.state === "auth-required") {
          todo.overdue = true;
          const back = 2 * HOUR;
          await rig.setField(id, "since", (await rig.now()) - back, "waiting", todo.queue);
        }
        return [0, 0];
    }
  }

  async check(todos: readonly ModelTodo[]): Promise<void> {
    for (const each of todos) {
      const id = this.id(each.name);
      const { todo, attempts } = await this.rig.read(id);
      const stored = {
        state: todo.state,
        holder: (await this.rig.field(id, "holder")) ?? "",
        fence: (await this.rig.field(id, "fence")) ?? "",
        attempt: todo.attempt,
        events: todo.seq,
        messages: todo.messages,
        parked: todo.state === "pending" && (todo.notBefore ?? 0) > (await this.rig.now()),
        attempts: [...attempts].reverse().map(({ seq, attempt, claimant, outcome, disposition }) => ({
          ...{ seq, attempt, claimant, outcome, disposition },
        })),
      };
      const { state, attempt, events, messages, parked } = each;
      expect(stored, each.name).toEqual({
        ...{ state, holder: each.holder, fence: each.fence, attempt, events, messages, parked },
        attempts: each.attempts,
      });
      expect(await this.rig.log(id), each.name).toEqual({ count: events, last: events });
    }
  }
}

let engine: Engine;
beforeAll(async () => {
  engine = await startEngine();
});
afterAll(() => engine?.stop());

describe("the engine and its model", () => {
  it(
    `SB-9 SB-24 SB-26 agree after each of ${STEPS} random steps, legal and illegal`,
    async () => {
      const seed = FULL ? Number(process.env.BATON_SEED ?? randomBytes(4).readInt32LE()) : 20_261_130;
      const seen = new Map<string, number>();
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: LIFE, maxLength: LIFE }), async (steps) => {
          const run = new Run(await engine.rig());
          for (const each of steps) await run.step(each);
          for (const todo of run.model.todos) {
            for (const attempt of todo.attempts) {
              const end = `${attempt.outcome}/${attempt.disposition}`;
              seen.set(end, (seen.get(end) ?? 0) + 1);
            }
          }
        }),
        { seed, numRuns: STEPS / LIFE, endOnFailure: !FULL },
      );
      // It would prove little if it had not been everywhere.
      const ends = ["completed/done", "failed/retry_scheduled", "failed/dead_lettered", "released/requeued"];
      ends.push("reaped/requeued", "canceled/canceled", "revoked/dead_lettered", "rejected/rejected");
      if (FULL)
        ends.push("lease_expired/requeued", "lease_expired/dead_lettered", "interrupt_timeout/dead_lettered");
      for (const end of ends) expect(seen.get(end) ?? 0, end).toBeGreaterThan(0);
    },
    FULL ? 1_200_000 : 90_000,
  );
});
