/** What a look at ten thousand tasks costs, in commands: time would only tell how busy the machine is. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { holder, Rig } from "../engine/rig.ts";
import { startTwo, type Two } from "./rig.ts";

const TASKS = 10_000;
const OWNERS = 50;

let two: Two;
let rig: Rig;
beforeAll(async () => {
  two = await startTwo({ agents: { big: {}, small: {} }, defaultAgent: "big" });
  rig = new Rig(two.redis, 50, "big");
  for (let done = 0; done < TASKS; done += 500) {
    const batch = Array.from({ length: 500 }, (_, i) => {
      const owner = `ep_${(done + i) % OWNERS}`;
      return rig.create({ owner, contextId: `ctx-${(done + i) % 1000}`, title: `t${done + i}` });
    });
    await Promise.all(batch);
  }
  await new Rig(two.redis, 50, "small").create();
}, 120_000);
afterAll(() => two?.stop());

/** Commands that Redis ran for something, those inside scripts included. */
async function commandsOf(work: () => Promise<unknown>): Promise<number> {
  await rig.run("CONFIG", "RESETSTAT");
  await work();
  const info = String(await rig.run("INFO", "commandstats"));
  let calls = 0;
  for (const [, name, count] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    // Of background work that goes on meanwhile, there is little else than this.
    if (name !== "config|resetstat" && name !== "info") calls += Number(count);
  }
  return calls;
}

/** Background loops of two gateways may run beside a call. */
const NOISE = 150;

describe("ten thousand tasks", () => {
  const search = (request: Parameters<Two["admin"]["tasks"]["searchTasks"]>[0]) =>
    two.admin.tasks.searchTasks(request);

  it("a page costs what a page holds, wherever it lies and whichever index it needs", async () => {
    let pageToken = "";
    for (let page = 0; page < 20; page++) ({ nextPageToken: pageToken } = await search({ pageToken }));
    for (const request of [
      {},
      { pageToken },
      { agent: "big" },
      { states: [TaskState.SUBMITTED] },
      { endpointId: "ep_7" },
      { endpointId: "ep_7", contextId: "ctx-7" },
      { endpointId: "ep_7", states: [TaskState.SUBMITTED] },
    ]) {
      const cost = await commandsOf(() => search(request));
      expect(cost, JSON.stringify(request)).toBeLessThan(2 * 50 + 40 + NOISE);
    }
    const large = await commandsOf(() => search({ pageSize: 200 }));
    expect(large).toBeLessThan(2 * 200 + 40 + NOISE);
  });

  it("a search without an index looks at a bounded number, and goes on by its token to the end", async () => {
    const request = { contextId: "ctx-123", pageSize: 200 };
    expect(await commandsOf(() => search(request))).toBeLessThan(6000 + NOISE);
    expect(await commandsOf(() => search({ idPrefix: "nothing-like-it" }))).toBeLessThan(100 + NOISE);
    const found: string[] = [];
    let pageToken = "";
    let pages = 0;
    do {
      const page = await search({ ...request, pageToken });
      found.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
      pages++;
    } while (pageToken !== "");
    expect(new Set(found).size).toBe(TASKS / 1000);
    expect(found).toHaveLength(TASKS / 1000);
    expect(pages).toBeLessThanOrEqual(TASKS / 2500 + 1);
  });

  it("all pages together are all tasks, each once", async () => {
    const seen = new Set<string>();
    let count = 0;
    let pageToken = "";
    do {
      const page = await search({ pageSize: 200, pageToken });
      for (const { id } of page.tasks) seen.add(id);
      count += page.tasks.length;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(count).toBe(TASKS + 1);
    expect(seen.size).toBe(TASKS + 1);
  });

  it("a task that moves while pages are turned neither hides nor repeats another", async () => {
    const first = await search({ agent: "big", pageSize: 100 });
    const later = await search({ agent: "big", pageSize: 100, pageToken: first.nextPageToken });
    const moved = later.tasks[50]?.id ?? "";
    await rig.todos.claim("big", holder("w"), { queue: "default", id: moved, ttlMs: 60_000, claimant: "w" });
    const again = await search({ agent: "big", pageSize: 100, pageToken: first.nextPageToken });
    const expected = later.tasks.map(({ id }) => id).filter((id) => id !== moved);
    expect(again.tasks.slice(0, 99).map(({ id }) => id)).toEqual(expected);
    expect((await search({ agent: "big", pageSize: 1 })).tasks[0]?.id).toBe(moved);
  });

  it("numbers, queues and one task cost the same as with few", async () => {
    const { tasks } = await search({ pageSize: 1 });
    const id = tasks[0]?.id ?? "";
    expect(await commandsOf(() => two.admin.stats.getStats({}))).toBeLessThan(100 + NOISE);
    expect(await commandsOf(() => two.admin.queues.listQueues({}))).toBeLessThan(100 + NOISE);
    expect(await commandsOf(() => two.admin.queues.listWorkers({}))).toBeLessThan(100 + NOISE);
    expect(await commandsOf(() => two.admin.tasks.getTask({ agent: "big", id }))).toBeLessThan(50 + NOISE);
    expect(await commandsOf(() => two.admin.tasks.getTaskTimeline({ agent: "big", id }))).toBeLessThan(
      50 + NOISE,
    );
  });
});
