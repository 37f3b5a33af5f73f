/** Tasks, push configs and deliveries are kept apart: whoever needs tasks needs nothing of push. */
import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestRedis, type TestRedis } from "../redis-server.ts";

const repository = resolve(import.meta.dirname, "../..");

/** A program that has the task stores and no push at all; prints what it loaded of the repository. */
const PROGRAM = `
import { registerHooks } from "node:module";
const loaded = [];
registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
const at = (path) => import(new URL(path, "file://${repository}/"));
const { create } = await at("node_modules/@bufbuild/protobuf/dist/esm/index.js");
const { MessageSchema, Role } = await at("gen/lf/a2a/v1/a2a_pb.js");
const { connectRedis } = await at("src/store/connect-redis.ts");
const { TaskStore } = await at("src/store/tasks.ts");
const { TodoStore } = await at("src/store/todos.ts");
const redis = await connectRedis({ target: { kind: "socket", path: process.argv[1] } });
const [tasks, todos] = [new TaskStore(redis), new TodoStore(redis)];
const message = create(MessageSchema, {
  messageId: "m1", role: Role.USER, taskId: "td_1", contextId: "c1",
  parts: [{ content: { case: "text", value: "please" } }],
});
await todos.create("alone", {
  id: "td_1", owner: "e1", scopes: ["e:e1"], queue: "default", contextId: "c1", title: "t", source: "", kind: "",
  assignee: "", message, request: new Uint8Array(), maxAttempts: 1, messageKey: "k", bodyHash: "h",
  idempotencyKey: "", historyLength: -1, rejectWith: undefined, actor: "a",
});
const holder = { id: "w1", name: "w", queues: ["default"], fence: "" };
await todos.claim("alone", holder, { queue: "default", id: "", ttlMs: 60000, claimant: "w" });
await todos.finish("alone", "td_1", holder, {
  verb: "complete", message: undefined, artifacts: [], summary: "", summaryTruncated: false, artifact: "",
  permanent: false, reason: "", backoff: { baseMs: 0, capMs: 0, jitter: 0 },
});
const found = await tasks.read("alone", "td_1", { id: "e1", shared: false, queues: [] }, { historyLength: -1, includeArtifacts: true });
const keys = (await redis.run("x", ["KEYS", "*"])).map(String);
await redis.close();
console.log(JSON.stringify({
  state: found?.task?.status?.state,
  keys,
  loaded: loaded.filter((url) => url.includes("/src/")).map((url) => url.slice(url.indexOf("/src/") + 1)),
}));
`;

describe("the ports of the store", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startTestRedis();
  });
  afterAll(() => redis.stop());

  it("D8 a task lives its whole life on the task stores alone, without code or keys of push", () => {
    const output = execFileSync(
      process.execPath,
      ["--input-type=module", "--eval", PROGRAM, redis.server.socketPath],
      { cwd: repository, encoding: "utf8" },
    );
    const { state, keys, loaded } = JSON.parse(output) as { state: number; keys: string[]; loaded: string[] };
    expect(state).toBe(3);
    // It can see: the stores themselves are among what was loaded, and the task among what was stored.
    expect(loaded).toContain("src/store/todos.ts");
    expect(keys).toContain("baton:{alone}:task:td_1");
    expect(loaded.filter((file) => /push|egress|bullmq/.test(file))).toEqual([]);
    expect(keys.filter((key) => /push|lane|outbox|secret/.test(key))).toEqual([]);
  });

  it("D8 configs and deliveries are stores of their own: each is loaded without the other", () => {
    const load = (file: string) => {
      const program = `
        import { registerHooks } from "node:module";
        const loaded = [];
        registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
        await import(${JSON.stringify(`file://${join(repository, file)}`)});
        console.log(loaded.join("\\n"));`;
      return execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
    };
    const [configs, lanes] = [load("src/store/push-configs.ts"), load("src/store/push-lanes.ts")];
    expect(configs).toContain("push-configs.ts");
    expect(configs).not.toMatch(/push-lanes|push-dead-letters|todos\.ts|\/src\/push\//);
    expect(lanes).toContain("push-lanes.ts");
    expect(lanes).not.toMatch(/push-configs|push-dead-letters|todos\.ts|\/src\/push\//);
  });
});
