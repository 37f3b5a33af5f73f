/** Todos from their creation to their end, as the services ask the store for it, one step of all of them at a time. */
import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { ArtifactSchema, Role } from "../gen/lf/a2a/v1/a2a_pb.js";
import { type TaskStore, WHOLE_TASK } from "../src/store/tasks.ts";
import type { ClaimResult, Finish, Holder, NextClaim } from "../src/store/todo-records.ts";
import type { TodoStore } from "../src/store/todos.ts";
import { newTodo, says } from "./new-todo.ts";

const AGENT = "default";
const QUEUE = "default";
const OWNER = "ep_sender";
const AT_ONCE = 32;
const HOLDER: Holder = { id: "ep_worker", name: "worker", queues: [QUEUE], fence: "" };
const VIEWER = { id: OWNER, shared: false, queues: [] };
const COMPLETE: Finish = {
  verb: "complete",
  message: undefined,
  artifacts: [],
  summary: "done",
  summaryTruncated: false,
  artifact: "",
  permanent: false,
  backoff: { baseMs: 1000, capMs: 60_000, jitter: 0 },
  reason: "",
};
const NEXT: NextClaim = { queue: QUEUE, claimant: "one", fence: "", ttlMs: 600_000 };
const LIST = {
  scopes: [`e:${OWNER}`],
  contextId: "",
  state: undefined,
  statusAfter: undefined,
  pageSize: 50,
  shape: { historyLength: 0, includeArtifacts: false },
  cursor: undefined,
};

/** Runs one step for each of some todos. */
export type Measure = (phase: string, work: () => Promise<void>) => Promise<void>;

export class TodoLife {
  readonly #todos: TodoStore;
  readonly #tasks: TaskStore;

  constructor(todos: TodoStore, tasks: TaskStore) {
    this.#todos = todos;
    this.#tasks = tasks;
  }

  /** Lets `count` todos live from creation to completion; each step goes through `measure` by the name of its script. */
  async live(count: number, measure: Measure): Promise<void> {
    const ids: string[] = Array.from({ length: count }, () => `td_${randomUUID()}`);
    const step = (phase: string, work: (id: string) => Promise<{ readonly kind: string }>) =>
      measure(phase, () =>
        each(ids, async (id) => {
          const { kind } = await work(id);
          if (!DONE.has(kind)) throw new Error(`${phase}: ${kind}`);
        }),
      );
    await step("create", (id) => this.#create(id));
    await step("message", (id) => this.#say(id));
    await step("claim", () => this.#claim());
    await step("heartbeat", (id) => this.#todos.heartbeat(AGENT, id, HOLDER, 60_000));
    await step("progress", (id) => this.#todos.progress(AGENT, id, HOLDER, { message: says(Role.AGENT) }));
    await step("progress (artifact)", (id) => this.#addArtifact(id));
    await step("interrupt", (id) =>
      this.#todos.interrupt(AGENT, id, HOLDER, "require_input", says(Role.AGENT)),
    );
    await step("message (reply)", (id) => this.#say(id));
    await step("finish", (id) => this.#todos.finish(AGENT, id, HOLDER, COMPLETE));
    await this.#workOff(count, measure);
    await step("read", async (id) => {
      const found = await this.#tasks.read(AGENT, id, VIEWER, WHOLE_TASK);
      return { kind: found === undefined ? "notfound" : "ok" };
    });
    await measure("list", () =>
      each(ids.slice(0, Math.ceil(count / 20)), async () => {
        await this.#tasks.list(AGENT, LIST);
      }),
    );
  }

  #create(id: string) {
    return this.#todos.create(AGENT, newTodo(id, OWNER));
  }

  /** Lets workers complete others and claim the next in the same call, as busy ones do. */
  async #workOff(count: number, measure: Measure): Promise<void> {
    const workers = Math.min(AT_ONCE, count);
    const held: string[] = [];
    await each(
      Array.from({ length: count + workers }, () => `td_${randomUUID()}`),
      async (id) => {
        await this.#create(id);
      },
    );
    const take = (claim: ClaimResult | undefined): void => {
      if (claim?.kind !== "claimed") throw new Error(`claim: ${claim?.kind}`);
      held.push(claim.todo.id);
    };
    for (let i = 0; i < workers; i += 1) take(await this.#claim());
    await measure("finish and claim", () =>
      each(Array.from({ length: count }), async () => {
        const ended = await this.#todos.finish(AGENT, held.shift() ?? "", HOLDER, COMPLETE, NEXT);
        if (ended.kind !== "ok") throw new Error(`finish: ${ended.kind}`);
        take(ended.next);
      }),
    );
    await each(held, async (id) => {
      await this.#todos.finish(AGENT, id, HOLDER, COMPLETE);
    });
  }

  #say(id: string) {
    return this.#todos.addMessage(AGENT, id, VIEWER, {
      contextId: "",
      message: says(Role.USER),
      messageKey: randomUUID(),
      bodyHash: randomUUID(),
      historyLength: -1,
      actor: OWNER,
    });
  }

  #claim() {
    return this.#todos.claim(AGENT, HOLDER, { ...NEXT, id: "" });
  }

  #addArtifact(id: string) {
    const artifact = create(ArtifactSchema, {
      artifactId: "result",
      parts: [{ content: { case: "text", value: "as measured" } }],
    });
    return this.#todos.progress(AGENT, id, HOLDER, { artifact, append: false, lastChunk: true });
  }
}

/** What a step answers that went through. */
const DONE: ReadonlySet<string> = new Set(["ok", "created", "accepted", "claimed"]);

/** Does it for each, some at once. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  // Shared by all lanes: each item goes to one of them.
  const rest = items.values();
  const lane = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}
