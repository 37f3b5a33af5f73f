/** ListTasks: pages, their bounds and their tokens. */
import { expect } from "vitest";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type Scenario, scenario } from "../scenario.ts";
import { needs, pages, several } from "./listing.ts";

export const PAGING: readonly Scenario[] = [
  scenario(
    "A2A-59 SB-35 pages hold every task once, then the token is empty",
    async ({ alice }) => {
      const ids = await several(alice, 25);
      const found = await pages(alice, { pageSize: 10 });
      expect(found.map((page) => page.length)).toEqual([10, 10, 5]);
      expect(found.flat().map(({ id }) => id)).toEqual(ids.toReversed());
    },
    needs,
  ),

  scenario(
    "A2A-59 SB-35 tasks that move or come while paging are neither skipped nor repeated",
    async (world) => {
      const { alice, worker } = world;
      const ids = await several(alice, 9);
      const found = await pages(alice, { pageSize: 3 }, async (page) => {
        const moved = ids[page - 1];
        const oldest = ids[6 - page];
        if (moved !== undefined) await worker.claim(moved);
        if (oldest !== undefined && oldest !== moved) await worker.claim(oldest);
        await alice.start(`inserted after ${page}`);
      });
      const seen = found.flat().map(({ id }) => id);
      expect(new Set(seen).size, "no task twice").toBe(seen.length);
      for (const id of ids) expect(seen, "no task missing").toContain(id);
    },
    needs,
  ),

  scenario(
    "A2A-59 a filtered listing stays complete while its tasks leave the filter",
    async ({ alice, worker }) => {
      const ids = await several(alice, 6);
      const status = "TASK_STATE_SUBMITTED";
      const found = await pages(alice, { pageSize: 2, status }, async (page) => {
        const next = ids[ids.length - 1 - 2 * page];
        if (next !== undefined) await worker.claim(next);
      });
      const seen = found.flat().map(({ id }) => id);
      expect(new Set(seen).size).toBe(seen.length);
      // Never skipped: what stayed submitted throughout must be there.
      for (const id of ids) {
        if ((await alice.get(id)).status?.state === TaskState.SUBMITTED) expect(seen).toContain(id);
      }
    },
    needs,
  ),

  scenario(
    "A2A-63 SB-36 FR-43 a page size from 1 to 100 is applied and answered",
    async ({ alice }) => {
      await several(alice, 3);
      for (const pageSize of [1, 2, 100]) {
        const page = await alice.list({ pageSize });
        expect([page.pageSize, page.tasks.length]).toEqual([pageSize, Math.min(pageSize, 3)]);
      }
      expect((await alice.list()).pageSize).toBe(50);
    },
    needs,
  ),

  ...[0, 101, -1].map((pageSize) =>
    scenario(
      `A2A-63 FR-43 page size ${pageSize} is InvalidParams`,
      async ({ alice, refused }) => {
        await refused(alice.list({ pageSize }), "InvalidParams", { fields: ["pageSize"] });
      },
      needs,
    ),
  ),

  scenario(
    "A2A-120 FR-43 a page size that is no integer is InvalidParams",
    async ({ alice, refused }) => {
      for (const pageSize of [1.5, "x"]) {
        await refused(alice.list({ pageSize }), "InvalidParams", { fields: ["pageSize"] });
      }
    },
    { needs: ["list", "json"] },
  ),

  scenario(
    "A2A-68 FR-41 a token that is not ours is InvalidParams",
    async ({ alice, refused }) => {
      await several(alice, 2);
      for (const pageToken of ["bm9wZQ==", "x", "a.b", "a.b.c"]) {
        await refused(alice.list({ pageToken }), "InvalidParams", { fields: ["pageToken"] });
      }
    },
    needs,
  ),

  scenario(
    "A2A-68 FR-41 an altered token is InvalidParams",
    async ({ alice, refused }) => {
      await several(alice, 2);
      const { nextPageToken } = await alice.list({ pageSize: 1 });
      const altered = `${nextPageToken[0] === "A" ? "B" : "A"}${nextPageToken.slice(1)}`;
      await refused(alice.list({ pageSize: 1, pageToken: altered }), "InvalidParams", {
        fields: ["pageToken"],
      });
    },
    needs,
  ),

  scenario(
    "A2A-68 FR-41 a token with other filters is InvalidParams",
    async ({ alice, refused }) => {
      await several(alice, 2);
      const { nextPageToken: pageToken } = await alice.list({ pageSize: 1 });
      for (const filter of [
        { status: "TASK_STATE_WORKING" },
        { contextId: "c" },
        { statusTimestampAfter: "2020-01-01T00:00:00Z" },
      ]) {
        await refused(alice.list({ pageSize: 1, pageToken, ...filter }), "InvalidParams", {
          fields: ["pageToken"],
        });
      }
    },
    needs,
  ),

  scenario(
    "A2A-68 FR-41 a token of another caller is InvalidParams",
    async ({ alice, bob, refused }) => {
      await several(alice, 2);
      const { nextPageToken: pageToken } = await alice.list({ pageSize: 1 });
      await refused(bob.list({ pageSize: 1, pageToken }), "InvalidParams", { fields: ["pageToken"] });
    },
    needs,
  ),

  scenario(
    "A2A-59 a token may be used twice and answers the same page",
    async ({ alice }) => {
      await several(alice, 4);
      const { nextPageToken: pageToken } = await alice.list({ pageSize: 2 });
      const [one, two] = await Promise.all([
        alice.list({ pageSize: 2, pageToken }),
        alice.list({ pageSize: 2, pageToken }),
      ]);
      expect(one.tasks.map(({ id }) => id)).toEqual(two.tasks.map(({ id }) => id));
    },
    needs,
  ),
];
