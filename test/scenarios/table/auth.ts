/** Who may call, and with what. */
import { expect } from "vitest";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { WORK_VERBS } from "../../../src/domain/caller.ts";
import { message, type Peer } from "../actors.ts";
import { type Scenario, scenario, type World } from "../scenario.ts";

/** Every operation, called with a task id. */
function everything(peer: Peer, id: string): readonly (readonly [string, () => Promise<unknown>])[] {
  return [
    ["SendMessage", () => peer.start()],
    ["SendStreamingMessage", () => peer.stream()],
    ["GetTask", () => peer.get(id)],
    ["CancelTask", () => peer.cancel(id)],
    ["SubscribeToTask", () => peer.subscribe(id)],
    [
      "CreateTaskPushNotificationConfig",
      () => peer.call("CreateTaskPushNotificationConfig", { taskId: id, url: "https://h.example" }),
    ],
    [
      "GetTaskPushNotificationConfig",
      () => peer.call("GetTaskPushNotificationConfig", { taskId: id, id: "c" }),
    ],
    ["ListTaskPushNotificationConfigs", () => peer.call("ListTaskPushNotificationConfigs", { taskId: id })],
    [
      "DeleteTaskPushNotificationConfig",
      () => peer.call("DeleteTaskPushNotificationConfig", { taskId: id, id: "c" }),
    ],
    ["GetExtendedAgentCard", () => peer.call("GetExtendedAgentCard", {})],
  ];
}

async function refusesAll({ alice, refused, has }: World, token: string | null): Promise<void> {
  const { id } = await alice.start();
  const stranger = alice.with({ token });
  const operations = [
    ...everything(stranger, id),
    ...(has("list") ? [["ListTasks", () => stranger.list()] as const] : []),
  ];
  const texts = new Set<string>();
  for (const [name, operation] of operations) {
    const seen = await refused(operation(), "Unauthenticated");
    expect(seen.metadata, name).toEqual({});
    texts.add(seen.message);
  }
  expect([...texts], "one text for every refusal").toHaveLength(1);
  expect((await alice.get(id)).status?.state).toBe(TaskState.SUBMITTED);
}

export const AUTH: readonly Scenario[] = [
  scenario("A2A-8 SB-1 every operation without a credential is Unauthenticated", (world) =>
    refusesAll(world, null),
  ),

  scenario("A2A-8 SB-1 every operation with an unknown credential is Unauthenticated", (world) =>
    refusesAll(world, "sbk_0000000000000000000000000000000000000000000"),
  ),

  scenario("SB-1 SB-59 a missing, an unknown and a revoked credential are answered alike", async (world) => {
    const { alice, peer, refused, gateway } = world;
    const client = await peer({ name: "to be revoked" });
    const { id } = await client.start();
    await gateway.revoke(client.options.token ?? "");
    const seen = [];
    for (const token of [null, "sbk_unknown", client.options.token, "", "two words"]) {
      const {
        message: text,
        detailTypes,
        wire,
      } = await refused(alice.with({ token }).get(id), "Unauthenticated");
      seen.push({ text, detailTypes, wire });
    }
    for (const answer of seen) expect(answer).toEqual(seen[0]);
  }),

  scenario(
    "SB-27 revoking an endpoint ends its open tasks and their streams",
    async ({ alice, peer, worker, gateway }) => {
      const client = await peer({ name: "to be revoked" });
      const [pending, claimed] = await Promise.all([client.start(), client.start()]);
      await worker.claim(claimed.id);
      const watch = await client.subscribe(pending.id);
      await watch.task();
      await gateway.revoke(client.options.token ?? "");
      await watch.all().catch(() => {});
      expect(watch.briefs.length).toBeLessThanOrEqual(2);
      for (const { id } of [pending, claimed]) {
        expect((await worker.client.getTodo({ id })).deadLetter).toBe(true);
      }
      await expect(alice.get(pending.id)).rejects.toThrow();
    },
  ),

  scenario(
    "A2A-11 SB-3 an endpoint without create_for may not send, and nothing is created",
    async (world) => {
      const { peer, refused, has } = world;
      const client = await peer({ verbs: WORK_VERBS });
      await refused(client.start(), "Forbidden");
      await refused(client.stream(), "Forbidden");
      if (has("list")) expect((await client.list()).totalSize).toBe(0);
    },
  ),

  scenario(
    "SB-2 A2A-11 a credential of another agent is Forbidden and executes nothing",
    async (world) => {
      const { peer, refused } = world;
      const other = await peer({ agent: "second" });
      const request = {
        tenant: "default",
        message: message("x"),
        configuration: { returnImmediately: true },
      };
      await refused(other.call("SendMessage", request), "Forbidden");
      await refused(other.call("GetTask", { tenant: "default", id: "x" }), "Forbidden");
      if (world.has("list")) expect((await other.list()).totalSize).toBe(0);
    },
    { versions: ["1.0"] },
  ),

  scenario(
    "A2A-17 the tenant of the credential may be named in the message",
    async ({ peer }) => {
      const client = await peer({ agent: "second" });
      const { message: answer } = await client.call("SendMessage", {
        tenant: "second",
        message: message("x"),
        configuration: { returnImmediately: true },
      });
      if (answer.payload.case !== "task") throw new Error("no task");
      const { id } = answer.payload.value;
      expect((await client.get(id, { tenant: "second" })).id).toBe(id);
    },
    { versions: ["1.0"] },
  ),

  scenario(
    "A2A-17 FR-47 an unknown tenant in the message is InvalidParams on send, TaskNotFound on a task",
    async (world) => {
      const { alice, refused } = world;
      const { id } = await alice.start();
      await refused(alice.call("SendMessage", { tenant: "nobody", message: message("x") }), "InvalidParams", {
        fields: ["tenant"],
      });
      await refused(alice.get(id, { tenant: "nobody" }), "TaskNotFound", { metadata: { taskId: id } });
      await refused(alice.cancel(id, { tenant: "nobody" }), "TaskNotFound");
      await refused(alice.open("SubscribeToTask", { id, tenant: "nobody" }), "TaskNotFound");
      expect((await alice.get(id)).status?.state).toBe(TaskState.SUBMITTED);
    },
    { versions: ["1.0"], except: { rest: "its path names the tenant; see the scenarios on paths" } },
  ),

  scenario(
    "FR-47 A2A-17 an unknown tenant in the path is a route that does not exist",
    async ({ alice, refused }) => {
      const lost = alice.with({ pathTenant: "nobody" });
      await refused(lost.start(), "RouteNotFound");
      await refused(lost.list(), "RouteNotFound");
      expect((await alice.list()).totalSize).toBe(0);
    },
    { needs: ["path-tenant", "list"] },
  ),

  scenario(
    "A2A-17 the agent may be named in the path",
    async ({ peer }) => {
      const client = (await peer({ agent: "second" })).with({ pathTenant: "second" });
      const { id } = await client.start();
      expect((await client.get(id)).id).toBe(id);
      const watch = await client.subscribe(id);
      await watch.task();
      watch.close();
      expect((await client.cancel(id)).status?.state).toBe(TaskState.CANCELED);
    },
    { needs: ["path-tenant"] },
  ),

  scenario(
    "A2A-17 FR-47 a tenant in the path and another in the message are InvalidParams",
    async (world) => {
      const { alice, refused } = world;
      const client = alice.with({ pathTenant: "default" });
      await refused(
        client.call("SendMessage", { tenant: "second", message: message("x") }),
        "InvalidParams",
        { fields: ["tenant"] },
      );
    },
    { needs: ["path-tenant"], versions: ["1.0"] },
  ),

  scenario(
    "FR-48 A2A-17 a tenant with an encoded slash is one name, never its last segment",
    async ({ peer, refused }) => {
      const client = (await peer({ agent: "second" })).with({ pathTenant: "team/second" });
      await refused(client.start(), "RouteNotFound");
    },
    { needs: ["path-tenant"] },
  ),

  scenario(
    "A2A-9 FR-44 SB-80 somebody else's task is TaskNotFound for every operation and stays as it was",
    async (world) => {
      const { alice, bob, refused, has } = world;
      const { id } = await alice.start();
      const before = await alice.get(id);
      for (const call of [
        () => bob.get(id),
        () => bob.cancel(id),
        () => bob.send(message("x", { taskId: id })),
        () => bob.stream(message("x", { taskId: id })),
        () => bob.subscribe(id),
      ]) {
        const seen = await refused(call(), "TaskNotFound", { metadata: { taskId: id } });
        if (has("error-data")) expect(Object.keys(seen.metadata)).toEqual(["taskId"]);
      }
      expect(await alice.get(id)).toEqual(before);
    },
  ),

  scenario("A2A-8 the scheme is matched in any case and the token in its own", async ({ alice, refused }) => {
    const token = alice.options.token ?? "";
    const raw = alice.with({ token: null, headers: { authorization: `bearer ${token}` } });
    expect((await raw.start()).id).not.toBe("");
    const wrong = token.replace(/[a-z]/, (letter) => letter.toUpperCase());
    await refused(alice.with({ token: wrong }).start(), "Unauthenticated");
    await refused(
      alice.with({ token: null, headers: { authorization: `Basic ${token}` } }).start(),
      "Unauthenticated",
    );
  }),
];
