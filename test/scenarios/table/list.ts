/** ListTasks: what it shows and its filters. */
import { randomUUID } from "node:crypto";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { expect } from "vitest";
import { message, type Peer } from "../actors.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { needs, several } from "./listing.ts";

export const LIST: readonly Scenario[] = [
  scenario(
    "A2A-61 A2A-62 FR-40 an empty listing has all its four members",
    async ({ alice, has }) => {
      const { message: page, json } = await alice.call("ListTasks", {});
      expect(page).toMatchObject({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
      if (has("a2a-json")) expect(json).toEqual({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
    },
    needs,
  ),

  scenario(
    "A2A-66 FR-40 SB-36 artifacts are left out unless asked for",
    async ({ alice, worker, has }) => {
      const { id } = await alice.start();
      await worker.do(id, [{ artifactId: "a", parts: [{ text: "x" }] }]);
      const { message: bare, json } = await alice.call("ListTasks", {});
      expect(bare.tasks[0]?.artifacts).toEqual([]);
      if (has("json-answer")) {
        const [task] = (json as { tasks: object[] }).tasks;
        expect(task).not.toHaveProperty("artifacts");
      }
      const full = await alice.list({ includeArtifacts: true });
      expect(full.tasks[0]?.artifacts.map(({ artifactId }) => artifactId)).toEqual(["a"]);
    },
    needs,
  ),

  scenario(
    "A2A-66 with includeArtifacts a task that has none shows an empty list",
    async ({ alice }) => {
      await alice.start();
      const { json } = await alice.call("ListTasks", { includeArtifacts: true });
      expect((json as { tasks: object[] }).tasks[0]).toHaveProperty("artifacts", []);
    },
    { needs: ["list", "a2a-json"] },
  ),

  scenario(
    "A2A-60 the newest status comes first",
    async ({ alice, worker }) => {
      const [first, second, third] = await several(alice, 3);
      if (first === undefined || second === undefined || third === undefined) throw new Error("no tasks");
      const ids = async () => (await alice.list()).tasks.map(({ id }) => id);
      await new Promise((resolve) => setTimeout(resolve, 5));
      await worker.claim(first);
      expect((await ids())[0]).toBe(first);
      const { tasks } = await alice.list();
      const times = tasks.map(({ status }) =>
        status?.timestamp === undefined ? 0 : timestampMs(status.timestamp),
      );
      expect(times).toEqual([...times].sort((a, b) => b - a));
      expect(new Set(tasks.map(({ id }) => id))).toEqual(new Set([first, second, third]));
    },
    needs,
  ),

  scenario(
    "A2A-58 SB-37 only the caller's own tasks are listed and counted",
    async ({ alice, bob }) => {
      const mine = await alice.start();
      await several(bob, 2);
      const page = await alice.list();
      expect(page.tasks.map(({ id }) => id)).toEqual([mine.id]);
      expect(page.totalSize).toBe(1);
      expect((await bob.list()).totalSize).toBe(2);
    },
    needs,
  ),

  scenario(
    "A2A-53 A2A-58 the context of somebody else lists nothing",
    async ({ alice, bob }) => {
      const contextId = randomUUID();
      await alice.start(message("x", { contextId }));
      expect(await bob.list({ contextId })).toMatchObject({ tasks: [], totalSize: 0 });
    },
    needs,
  ),

  scenario(
    "A2A-65 SB-35 contextId and status filter, and combine with AND",
    async ({ alice, worker }) => {
      const contextId = randomUUID();
      const inside = await alice.start(message("in", { contextId }));
      const done = await alice.start(message("in and done", { contextId }));
      const outside = await alice.start("out");
      await worker.do(done.id);
      await worker.do(outside.id);
      const ids = async (request: Parameters<Peer["list"]>[0]) =>
        (await alice.list(request)).tasks.map(({ id }) => id).sort();
      expect(await ids({ contextId })).toEqual([inside.id, done.id].sort());
      expect(await ids({ status: "TASK_STATE_COMPLETED" })).toEqual([done.id, outside.id].sort());
      expect(await ids({ contextId, status: "TASK_STATE_COMPLETED" })).toEqual([done.id]);
      expect(await ids({ contextId, status: "TASK_STATE_WORKING" })).toEqual([]);
      expect(await ids({ contextId: "unknown" })).toEqual([]);
    },
    needs,
  ),

  scenario(
    "A2A-64 totalSize counts the matches before paging and is the same on each page",
    async ({ alice }) => {
      await several(alice, 5);
      const first = await alice.list({ pageSize: 2 });
      const second = await alice.list({ pageSize: 2, pageToken: first.nextPageToken });
      expect([first.totalSize, second.totalSize]).toEqual([5, 5]);
    },
    needs,
  ),

  scenario(
    "A2A-65 FR-3 statusTimestampAfter keeps equal and later times, whatever their offset",
    async ({ alice }) => {
      await alice.start("older");
      await new Promise((resolve) => setTimeout(resolve, 5));
      const { id, status } = await alice.start("newer");
      if (status?.timestamp === undefined) throw new Error("no time");
      const ms = timestampMs(status.timestamp);
      const indian = new Date(ms + 5.5 * 3_600_000).toISOString().replace("Z", "+05:30");
      for (const statusTimestampAfter of [new Date(ms).toISOString(), indian]) {
        expect((await alice.list({ statusTimestampAfter })).tasks.map((task) => task.id)).toEqual([id]);
      }
      const later = new Date(ms + 1).toISOString();
      expect((await alice.list({ statusTimestampAfter: later })).totalSize).toBe(0);
    },
    needs,
  ),

  scenario(
    "A2A-67 FR-24 historyLength applies to each task",
    async ({ alice, worker, has }) => {
      const { id } = await alice.start("m1");
      await worker.claim(id);
      await alice.start(message("m2", { taskId: id }));
      const { message: none, json } = await alice.call("ListTasks", { historyLength: 0 });
      expect(none.tasks[0]?.history).toEqual([]);
      if (has("json-answer")) expect((json as { tasks: object[] }).tasks[0]).not.toHaveProperty("history");
      const one = await alice.list({ historyLength: 1 });
      expect(one.tasks[0]?.history.map(({ parts }) => parts[0]?.content.value)).toEqual(["m2"]);
    },
    needs,
  ),

  scenario(
    "A2A-67 a negative historyLength is InvalidParams",
    async ({ alice, refused }) => {
      await refused(alice.list({ historyLength: -1 }), "InvalidParams", { fields: ["historyLength"] });
    },
    needs,
  ),

  scenario(
    "A2A-65 an unknown status number is InvalidParams",
    async ({ alice, refused }) => {
      await refused(alice.list({ status: 99 }), "InvalidParams", { fields: ["status"] });
    },
    { needs: ["list"], except: { rest: "a status in a query is a name; see the scenario on names" } },
  ),

  scenario(
    "A2A-65 A2A-120 an unknown status name is InvalidParams",
    async ({ alice, refused }) => {
      await refused(alice.list({ status: "TASK_STATE_DREAMING" }), "InvalidParams", { fields: ["status"] });
    },
    { needs: ["list", "json"] },
  ),

  scenario(
    "A2A-116 FR-3 a time without zone or outside the calendar is InvalidParams",
    async ({ alice, refused }) => {
      for (const statusTimestampAfter of ["yesterday", "2025-13-01T00:00:00Z", "2025-01-01T00:00:00"]) {
        await refused(alice.list({ statusTimestampAfter }), "InvalidParams", {
          fields: ["statusTimestampAfter"],
        });
      }
    },
    { needs: ["list", "json"] },
  ),

  scenario(
    "A2A-58 on an agent that shares its queue the listing holds the queue's tasks once",
    async ({ peer }) => {
      const [first, second] = await Promise.all([
        peer({ agent: "shared", name: "one" }),
        peer({ agent: "shared", name: "two" }),
      ]);
      const contextId = randomUUID();
      await first.start(message("a", { contextId }));
      await second.start(message("b", { contextId }));
      expect((await first.list({ contextId })).totalSize).toBe(2);
      expect((await second.list({ contextId })).tasks).toHaveLength(2);
    },
    needs,
  ),

  scenario(
    "A2A-59 A2A-65 every state can be filtered for",
    async ({ alice, worker }) => {
      const ids = await several(alice, 7);
      const [, working, input, auth, completed, failed, canceled] = ids;
      for (const id of ids.slice(1, 6)) await worker.claim(id);
      if (input !== undefined) await worker.ask(input, "?");
      if (auth !== undefined) await worker.askAuth(auth, "?");
      if (completed !== undefined) await worker.complete(completed);
      if (failed !== undefined) await worker.fail(failed, "x");
      if (canceled !== undefined) await alice.cancel(canceled);
      for (const [status, id] of [
        ["SUBMITTED", ids[0]],
        ["WORKING", working],
        ["INPUT_REQUIRED", input],
        ["AUTH_REQUIRED", auth],
        ["COMPLETED", completed],
        ["FAILED", failed],
        ["CANCELED", canceled],
      ]) {
        const page = await alice.list({ status: `TASK_STATE_${status}` });
        expect([status, ...page.tasks.map((task) => task.id)]).toEqual([status, id]);
        expect(page.totalSize).toBe(1);
      }
      expect((await alice.list()).totalSize).toBe(7);
    },
    needs,
  ),
];
