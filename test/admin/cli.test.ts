import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../cli/processes.ts";
import { agentSays, type Sender, senderOf, workerOf } from "../engine/client.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";

let gateway: TestGateway;
let ann: Sender;
let worker: ReturnType<typeof workerOf>;
beforeAll(async () => {
  gateway = await startTestGateway();
  ann = senderOf(gateway.url, await gateway.vend({ name: "ann" }));
  worker = workerOf(gateway.url, await gateway.vendWorker({ name: "mill" }));
});
afterAll(() => gateway?.stop());

const baton = (...args: string[]) =>
  runCli(args, {
    cwd: gateway.dataDir,
    env: { BATON_DATA_DIR: gateway.dataDir, BATON_ADMIN_URL: gateway.adminUrl },
  });
const json = async (...args: string[]) => JSON.parse((await baton(...args, "--output", "json")).stdout);

describe("the command line for operators", () => {
  it("says so where there is nothing", async () => {
    expect((await baton("task", "search")).stdout).toBe("No task was found.\n");
    expect((await baton("worker", "list")).stdout).toBe("Nobody works here.\n");
    expect((await baton("audit", "list", "--target", "nothing")).stdout).toBe("Nothing was done.\n");
  });

  it("finds a task, tells where it is and what happened to it, and answers for its client", async () => {
    const { id } = await ann.send("which colour?");
    await worker.claim({ claimant: "press-1" });
    await worker.requireInput({ id, message: agentSays("red or blue?") });
    const inbox = await baton("task", "search", "--state", "input-required", "--state", "auth-required");
    expect(inbox.stdout).toMatch(/^TASK +AGENT +QUEUE +STATE +SINCE +WORKER +SAYS\n/);
    expect(inbox.stdout).toMatch(new RegExp(`${id} .*input-required .*press-1 +red or blue\\?`));
    const facts = (await baton("task", "inspect", id)).stdout;
    expect(facts).toMatch(/^state +input-required since 2/m);
    expect(facts).toMatch(/^attempt +1 of 5$/m);
    expect(facts).toMatch(/^held by +press-1$/m);
    expect(facts).toMatch(/^waits until +2/m);
    expect(facts).not.toMatch(/^not before/m);
    const workers = await baton("worker", "list");
    expect(workers.stdout).toMatch(new RegExp(`press-1 +mill .*${id} \\(input-required\\)`));
    const answered = await baton("task", "answer", id, "red");
    expect(answered.stdout).toContain(`${id}  working`);
    const { todos } = (await json("worker", "list", "--queue", "default")).workers[0];
    expect(todos).toMatchObject([{ id, state: "claimed" }]);
    await worker.complete({ id });
    expect((await baton("worker", "list")).stdout).toMatch(/press-1 +mill +default +default +\S+ +0$/m);
    const told = (await baton("task", "timeline", id)).stdout.split("\n");
    expect(told[0]).toMatch(/^TIME +AFTER +STATE +WHAT$/);
    expect(told.slice(1, -1).map((line) => line.replace(/^\S+ +(\+\S+ +)?/, ""))).toEqual([
      "submitted       sent by ann",
      "working         claimed by mill",
      "input-required  mill asks for input: red or blue?",
      "working         answered by operator",
      "completed       completed by mill",
    ]);
    expect((await json("task", "timeline", id, "--limit", "2")).truncated).toBe(true);
    expect((await json("task", "search", "--id", id.slice(0, 10))).tasks).toHaveLength(1);
  });

  it("turns pages, and tells of a token only where there is more", async () => {
    await ann.send("one more");
    const first = await baton("task", "search", "--limit", "1");
    const token = /--page-token (\S+)/.exec(first.stderr)?.[1] ?? "";
    const second = await baton("task", "search", "--limit", "1", "--page-token", token);
    expect([second.code, second.stderr]).toEqual([0, ""]);
    const bad = await baton("task", "search", "--page-token", "nonsense");
    expect([bad.code, bad.stderr]).toEqual([2, expect.stringContaining("is not one of ours")]);
  });

  it("shows queues, numbers and what operators did", async () => {
    const queues = (await baton("queue", "list")).stdout;
    expect(queues).toMatch(/^default +default +1 +\d\S* +0 +0 +0 +0 +1$/m);
    const stats = (await baton("stats")).stdout;
    expect(stats).toMatch(/^default +todo +1 submitted, 1 completed +0 +0 +0$/m);
    expect(stats).toMatch(/ \* .* ready +\d+ +\d+$/m);
    expect(stats).toContain("embedded");
    expect((await json("stats")).replicas).toHaveLength(1);
    const audit = (await baton("audit", "list", "--action", "ReplyToTask")).stdout;
    expect(audit).toMatch(/ operator +TaskService\/ReplyToTask +td_\S+ +ok$/m);
    expect((await json("audit", "list", "--operator", "nobody")).entries).toBeUndefined();
  });

  it("leaves what stands behind `baton worker` to the worker", async () => {
    const { code, stderr } = await baton(
      "worker",
      "--url",
      gateway.url,
      "--credential",
      "x",
      "--exec",
      "true",
    );
    expect([code, stderr]).toEqual([4, expect.stringContaining("credential")]);
    expect((await baton("worker", "lst")).code).toBe(2);
  });
});
