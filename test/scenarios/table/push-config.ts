/** The four push configuration operations, by what the agent's card says of push. */
import { expect } from "vitest";
import { message, type Peer } from "../actors.ts";
import { type Scenario, scenario, type World } from "../scenario.ts";

const url = "https://hooks.example.com/baton";

/** All four operations on a task, by name. */
function operations(peer: Peer, taskId: string): readonly (readonly [string, () => Promise<unknown>])[] {
  return [
    ["create", () => peer.call("CreateTaskPushNotificationConfig", { taskId, url })],
    ["get", () => peer.call("GetTaskPushNotificationConfig", { taskId, id: "c1" })],
    ["list", () => peer.call("ListTaskPushNotificationConfigs", { taskId })],
    ["delete", () => peer.call("DeleteTaskPushNotificationConfig", { taskId, id: "c1" })],
  ];
}

/** Whether the served card offers push (SB-68). */
export async function offersPush({ gateway }: World): Promise<boolean> {
  const response = await fetch(`${gateway.url}/.well-known/agent-card.json`, {
    headers: { "a2a-version": "1.0" },
  });
  const card = (await response.json()) as { capabilities: { pushNotifications?: boolean } };
  return card.capabilities.pushNotifications === true;
}

export const PUSH_CONFIG: readonly Scenario[] = [
  scenario(
    "A2A-101 FR-59 without push all four answer PushNotificationNotSupported, before any look-up",
    async (world) => {
      const { alice, refused } = world;
      const { id } = await alice.start();
      for (const taskId of [id, "never-was"]) {
        for (const [, operation] of operations(alice, taskId)) {
          await refused(operation(), "PushNotificationNotSupported");
        }
      }
    },
  ),

  scenario(
    "A2A-41 FR-55 without push a config in the send is refused and nothing is created",
    async (world) => {
      const { alice, refused, has } = world;
      const configuration = { taskPushNotificationConfig: { url } };
      await refused(alice.start("x", { configuration }), "PushNotificationNotSupported");
      await refused(alice.stream("x", { configuration }), "PushNotificationNotSupported");
      if (has("list")) expect((await alice.list()).totalSize).toBe(0);
    },
  ),

  scenario(
    "A2A-102 A2A-10 FR-44 with push an unknown and a foreign task are TaskNotFound alike",
    async (world) => {
      const { alice, peer, refused } = world;
      const client = await peer({ push: true });
      const { id } = await alice.start();
      const push = await offersPush(world);
      for (const [name, operation] of [...operations(client, id), ...operations(client, "never-was")]) {
        const seen = await refused(operation(), push ? "TaskNotFound" : "PushNotificationNotSupported");
        expect(seen.message, name).not.toBe("");
      }
    },
  ),

  scenario("A2A-55 the task is as it was after every refused push operation", async ({ alice, bob }) => {
    const { id } = await alice.start(message("untouched"));
    const before = await alice.get(id);
    await Promise.allSettled(operations(bob, id).map(([, operation]) => operation()));
    expect(await alice.get(id)).toEqual(before);
  }),
];
