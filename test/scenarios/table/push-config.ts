/** The four push configuration operations, by what the agent's card says of push. */
import { expect } from "vitest";
import { message, type Peer } from "../actors.ts";
import { type Scenario, scenario, type World } from "../scenario.ts";

const url = "https://hooks.example.com/baton";
/** On this machine, where nobody listens; the gateway of the table allows it. */
const receiver = "https://127.0.0.1:1029/hook";

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

  scenario(
    "A2A-103 A2A-105 SB-75 a config is created, read and listed, and its secrets are never shown",
    async (world) => {
      const { peer, has } = world;
      const client = await peer({ push: true });
      const { id: taskId } = await client.start();
      const secrets = { token: "tok-3f9a", authentication: { scheme: "Bearer", credentials: "cred-77c1" } };
      const { message: made, json } = await client.call("CreateTaskPushNotificationConfig", {
        taskId,
        url: receiver,
        ...secrets,
      });
      expect(made).toMatchObject({ taskId, url: receiver });
      expect(made.id).not.toBe("");
      const got = await client.call("GetTaskPushNotificationConfig", { taskId, id: made.id });
      const listed = await client.call("ListTaskPushNotificationConfigs", { taskId });
      expect(listed.message.configs.map(({ id }) => id)).toEqual([made.id]);
      const shown = [made, got.message, ...listed.message.configs];
      for (const { token, authentication } of shown) {
        expect([token, authentication?.credentials]).not.toContain(secrets.token);
        expect([token, authentication?.credentials]).not.toContain(secrets.authentication.credentials);
      }
      if (has("json-answer"))
        expect(JSON.stringify([json, got.json, listed.json])).not.toMatch(/tok-3f9a|cred-77c1/);
    },
  ),

  scenario("A2A-103 the id of a config that is there replaces it", async ({ peer }) => {
    const client = await peer({ push: true });
    const { id: taskId } = await client.start();
    for (const path of ["a", "b"]) {
      await client.call("CreateTaskPushNotificationConfig", {
        taskId,
        id: "mine",
        url: `${receiver}/${path}`,
      });
    }
    const { message: page } = await client.call("ListTaskPushNotificationConfigs", { taskId });
    expect(page.configs.map(({ id, url: at }) => [id, at])).toEqual([["mine", `${receiver}/b`]]);
  }),

  scenario("A2A-107 A2A-125 delete is for good, idempotent, and answers with nothing", async (world) => {
    const { peer, refused, has } = world;
    const client = await peer({ push: true });
    const { id: taskId } = await client.start();
    const { message: made } = await client.call("CreateTaskPushNotificationConfig", {
      taskId,
      url: receiver,
    });
    const { id } = made;
    for (const _ of ["first", "again"]) {
      const { json } = await client.call("DeleteTaskPushNotificationConfig", { taskId, id });
      if (has("json-answer")) expect(json).toEqual({});
    }
    await refused(client.call("GetTaskPushNotificationConfig", { taskId, id }), "TaskNotFound");
    expect((await client.call("ListTaskPushNotificationConfigs", { taskId })).message.configs).toEqual([]);
  }),

  scenario("A2A-105 a config that never was is TaskNotFound", async ({ peer, refused }) => {
    const client = await peer({ push: true });
    const { id: taskId } = await client.start();
    await refused(client.call("GetTaskPushNotificationConfig", { taskId, id: "nope" }), "TaskNotFound");
    await client.call("DeleteTaskPushNotificationConfig", { taskId, id: "nope" });
  }),

  scenario("A2A-40 FR-55 a config in the send is registered under an id of ours", async ({ peer }) => {
    const client = await peer({ push: true });
    const { id: taskId } = await client.start("x", {
      configuration: { taskPushNotificationConfig: { url: receiver } },
    });
    const { message: page } = await client.call("ListTaskPushNotificationConfigs", { taskId });
    expect(page.configs).toMatchObject([{ taskId, url: receiver }]);
    expect(page.configs[0]?.id).not.toBe("");
  }),

  scenario(
    "A2A-106 configs are listed in pages, each once",
    async ({ peer, refused }) => {
      const client = await peer({ push: true });
      const { id: taskId } = await client.start();
      for (const id of ["a", "b", "c"]) {
        await client.call("CreateTaskPushNotificationConfig", { taskId, id, url: receiver });
      }
      const list = async (pageToken: string) =>
        (await client.call("ListTaskPushNotificationConfigs", { taskId, pageSize: 2, pageToken })).message;
      const first = await list("");
      const second = await list(first.nextPageToken);
      expect([first.configs.length, second.configs.length, second.nextPageToken]).toEqual([2, 1, ""]);
      expect(new Set([...first.configs, ...second.configs].map(({ id }) => id))).toEqual(
        new Set(["a", "b", "c"]),
      );
      await refused(list("bm9wZQ=="), "InvalidParams", { fields: ["pageToken"] });
    },
    { versions: ["1.0"] },
  ),

  scenario(
    "A2A-108 A2A-196 FR-51 SB-76 addresses of the inside and plain http are refused",
    async ({ peer, refused }) => {
      const client = await peer({ push: true });
      const { id: taskId } = await client.start();
      for (const bad of [
        "http://127.0.0.1:9000/",
        "http://169.254.169.254/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://0xa9fea9fe/",
        "https://2852039166/",
        "https://user:pw@127.0.0.1:9000/",
        "ftp://127.0.0.1/",
        "not a url",
      ]) {
        const create = client.call("CreateTaskPushNotificationConfig", { taskId, url: bad });
        const { message: text } = await refused(create, "InvalidParams", { fields: ["url"] });
        expect(text, bad).not.toBe("");
      }
      expect((await client.call("ListTaskPushNotificationConfigs", { taskId })).message.configs).toEqual([]);
    },
  ),

  scenario(
    "A2A-200 FR-50 line breaks in a token or credential are InvalidParams",
    async ({ peer, refused }) => {
      const client = await peer({ push: true });
      const { id: taskId } = await client.start();
      for (const bad of [
        { token: "t\n" },
        { authentication: { scheme: "Bearer", credentials: "a\r\nX-Evil: 1" } },
        { authentication: { scheme: "Bearer x\r\ny", credentials: "c" } },
      ]) {
        await refused(
          client.call("CreateTaskPushNotificationConfig", { taskId, url: receiver, ...bad }),
          "InvalidParams",
        );
      }
    },
  ),

  scenario(
    "A2A-103 A2A-3 a config without a url is InvalidParams",
    async ({ peer, refused }) => {
      const client = await peer({ push: true });
      const { id: taskId } = await client.start();
      await refused(client.call("CreateTaskPushNotificationConfig", { taskId }), "InvalidParams", {
        fields: ["url"],
      });
    },
    { versions: ["1.0"] },
  ),

  scenario("A2A-109 a config may be registered when the task has ended", async ({ peer }) => {
    const client = await peer({ push: true });
    const { id: taskId } = await client.start();
    await client.cancel(taskId);
    const { message: made } = await client.call("CreateTaskPushNotificationConfig", {
      taskId,
      url: receiver,
    });
    expect(made.url).toBe(receiver);
  }),
];
