import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PushGateway, type RpcAnswer, startPushGateway } from "./gateway.ts";
import { type PushReceiver, quiet, startPushReceiver } from "./receiver.ts";

let gateway: PushGateway;
let hook: PushReceiver;
let client: string;
let other: string;
let noPush: string;

beforeAll(async () => {
  gateway = await startPushGateway();
  hook = await startPushReceiver();
  client = await gateway.vend({ push: true, name: "client" });
  other = await gateway.vend({ push: true, name: "other" });
  noPush = await gateway.vend({ name: "no-push" });
});
afterAll(async () => {
  await gateway.stop();
  await hook.close();
});

const CREATE = "CreateTaskPushNotificationConfig";
const GET = "GetTaskPushNotificationConfig";
const LIST = "ListTaskPushNotificationConfigs";
const DELETE = "DeleteTaskPushNotificationConfig";

async function newTask(credential = client): Promise<string> {
  const { result } = await gateway.send(credential);
  return result.task.id as string;
}

/** An error without what differs by request: the ids that it echoes. */
function normal(answer: RpcAnswer, ...ids: string[]): string {
  return ids.reduce((text, id) => text.replaceAll(id, "<id>"), JSON.stringify(answer.error));
}

describe("operations", () => {
  it("SB-75, OW-55 create, get, list newest first, delete twice; ids are random and name nobody", async () => {
    const taskId = await newTask();
    const one = await gateway.rpc(client, CREATE, { taskId, url: hook.url });
    await quiet(5);
    const two = await gateway.rpc(client, CREATE, { taskId, url: `${hook.url}/2` });
    const ids = [one.result.id, two.result.id];
    for (const id of ids) expect(id).toMatch(/^pnc-[A-Za-z0-9_-]{22}$/);
    expect(one.result).toEqual({ id: ids[0], taskId, url: hook.url });
    expect((await gateway.rpc(client, GET, { taskId, id: ids[0] })).result).toEqual(one.result);
    const list = await gateway.rpc(client, LIST, { taskId });
    expect(list.result.configs.map(({ id }: { id: string }) => id)).toEqual(ids.toReversed());
    for (let i = 0; i < 2; i++) {
      expect((await gateway.rpc(client, DELETE, { taskId, id: ids[0] })).result).toEqual({});
    }
    expect((await gateway.rpc(client, GET, { taskId, id: ids[0] })).error?.code).toBe(-32001);
    expect((await gateway.rpc(client, LIST, { taskId })).result.configs).toHaveLength(1);
    expect((await gateway.rpc(client, DELETE, { taskId, id: "never-was" })).result).toEqual({});
  });

  it("A2A-103 an id that is there already is replaced, and a client's own id is kept", async () => {
    const taskId = await newTask();
    for (const path of ["/a", "/b"]) {
      const { result } = await gateway.rpc(client, CREATE, { taskId, id: "mine", url: hook.url + path });
      expect(result.id).toBe("mine");
    }
    const { result } = await gateway.rpc(client, LIST, { taskId });
    expect(result.configs.map(({ url }: { url: string }) => url)).toEqual([`${hook.url}/b`]);
  });

  it("A2A-106 lists in pages", async () => {
    const taskId = await newTask();
    for (let i = 0; i < 5; i++) {
      await gateway.rpc(client, CREATE, { taskId, id: `c${i}`, url: hook.url });
      await quiet(3);
    }
    const seen: string[] = [];
    let pageToken = "";
    do {
      const { result } = await gateway.rpc(client, LIST, { taskId, pageSize: 2, pageToken });
      seen.push(...result.configs.map(({ id }: { id: string }) => id));
      pageToken = result.nextPageToken ?? "";
    } while (pageToken !== "");
    expect(seen).toEqual(["c4", "c3", "c2", "c1", "c0"]);
    expect((await gateway.rpc(client, LIST, { taskId, pageToken: "junk" })).error?.code).toBe(-32602);
    expect((await gateway.rpc(client, LIST, { taskId, pageSize: -1 })).error?.code).toBe(-32602);
  });

  it("S5, Q13 a task has at most five configs", async () => {
    const taskId = await newTask();
    for (let i = 0; i < 5; i++) await gateway.rpc(client, CREATE, { taskId, url: hook.url });
    const sixth = await gateway.rpc(client, CREATE, { taskId, url: hook.url });
    expect(sixth.error).toMatchObject({ code: -32602, message: expect.stringContaining("5 push configs") });
    expect((await gateway.rpc(client, LIST, { taskId })).result.configs).toHaveLength(5);
  });

  it("FR-55, A2A-40 a config in the send is registered with a server-made id, over HTTP+JSON too", async () => {
    const response = await fetch(`${gateway.url}/message:send`, {
      method: "POST",
      headers: { "content-type": "application/a2a+json", authorization: `Bearer ${client}` },
      body: JSON.stringify({
        message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "x" }] },
        configuration: { returnImmediately: true, taskPushNotificationConfig: { url: hook.url } },
      }),
    });
    const { task } = (await response.json()) as { task: { id: string } };
    const { result } = await gateway.rpc(client, LIST, { taskId: task.id });
    expect(result.configs).toEqual([{ id: expect.stringMatching(/^pnc-/), taskId: task.id, url: hook.url }]);
  });

  it("FR-53 a config in the send gets the first event; one in a reply gets the events from there", async () => {
    const receiver = await startPushReceiver();
    const { result } = await gateway.send(client, {
      taskPushNotificationConfig: {
        url: receiver.url,
        authentication: { scheme: "Bearer", credentials: "s3" },
      },
    });
    const [first] = await receiver.until(1);
    expect(JSON.parse(first?.body ?? "").statusUpdate).toMatchObject({
      taskId: result.task.id,
      status: { state: "TASK_STATE_SUBMITTED" },
    });
    expect(first?.headers.authorization).toBe("Bearer s3");
    await receiver.close();
  });
});

describe("guard", () => {
  it("OW-37 anything but https is refused: the inputs of the legs", async () => {
    const taskId = await newTask();
    for (const url of [
      "http://push.example.com/push",
      "http://push.example.com/openwop-conformance",
      "ftp://push.example.com/",
      "file:///etc/passwd",
      "javascript:alert(1)",
      "//push.example.com/",
      "push.example.com",
    ]) {
      const { error } = await gateway.rpc(client, CREATE, { taskId, url });
      expect(error?.code, url).toBe(-32602);
    }
  });

  it("OW-38, OW-39, FR-51, SB-76, S1 addresses are refused over https: the inputs of the legs and the field", async () => {
    const taskId = await newTask();
    for (const url of [
      "https://10.0.0.5/push",
      "https://10.0.0.1/openwop-conformance",
      "https://127.0.0.1/openwop-conformance",
      "https://169.254.169.254/latest/meta-data",
      "http://169.254.169.254/latest/meta-data/",
      "https://[::1]",
      "https://[::ffff:10.0.0.1]",
      "https://0x7f000001",
      "https://2130706433",
      "https://localhost.",
      "https://metadata.google.internal/",
      "https://user:pw@hook.example/",
      "https://kubernetes.default.svc/",
    ]) {
      const answer = await gateway.rpc(client, CREATE, { taskId, url });
      expect(answer.error?.code, url).toBe(-32602);
      expect(answer.result, url).toBeUndefined();
    }
    expect((await gateway.rpc(client, LIST, { taskId })).result.configs ?? []).toEqual([]);
  });

  it("OW-42 the gateway itself is no destination, though loopback is allowed here", async () => {
    const taskId = await newTask();
    const port = new URL(gateway.url).port;
    const adminPort = new URL(gateway.adminUrl).port;
    for (const own of [port, adminPort]) {
      const { error } = await gateway.rpc(client, CREATE, { taskId, url: `https://127.0.0.1:${own}/` });
      expect(error?.message).toContain("own_listener");
    }
  });

  it("OW-57 a config in the send goes through the same guard, before anything is created", async () => {
    const before = (await gateway.rpc(client, "ListTasks", {})).result.totalSize;
    const { error } = await gateway.send(client, {
      taskPushNotificationConfig: { url: "https://10.0.0.1/x" },
    });
    expect(error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("configuration.taskPushNotificationConfig.url"),
    });
    expect((await gateway.rpc(client, "ListTasks", {})).result.totalSize).toBe(before);
  });

  it("FR-50, S5, A2A-200 CR, LF, NUL and the like in a token or credential are InvalidParams, and not echoed", async () => {
    const taskId = await newTask();
    const bad = [
      { authentication: { scheme: "Bearer", credentials: "a\r\nX-Evil: 1" } },
      { token: "t\n" },
      { token: "abc\r\nX-Evil: 1" },
      { token: "a\u0000b" },
      { token: "smile \u263a" },
      { token: " led" },
      { authentication: { scheme: "Bearer x\r\ny", credentials: "c" } },
      { authentication: { scheme: "Be arer", credentials: "c" } },
      { authentication: { scheme: "", credentials: "c" } },
      { token: "x".repeat(4097) },
      { id: "a:b" },
      { id: "../../etc" },
      { id: "x".repeat(129) },
    ];
    for (const config of bad) {
      const answer = await gateway.rpc(client, CREATE, { taskId, url: hook.url, ...config });
      expect(answer.error?.code, JSON.stringify(config)).toBe(-32602);
      expect(JSON.stringify(answer)).not.toContain("Evil");
    }
  });

  it("Q13 registrations have a limit of their own", async () => {
    const strict = await startPushGateway({ registration: { perSecond: 0.1, burst: 2 } });
    const credential = await strict.vend({ push: true });
    const { result } = await strict.send(credential);
    const codes = [];
    for (let i = 0; i < 4; i++) {
      const answer = await strict.rpc(credential, CREATE, { taskId: result.task.id, url: hook.url });
      codes.push(answer.error?.code ?? 0);
    }
    expect(codes).toEqual([0, 0, -32000, -32000]);
    // S13: a refused url costs as much as a good one, since it is the look-up that costs.
    await strict.stop();
  });
});

describe("who may", () => {
  it("SB-75, OW-36, A2A-41, A2A-101 an endpoint without push gets -32003 on all four and on a send with a config", async () => {
    const taskId = await newTask(noPush);
    for (const [method, params] of [
      [CREATE, { taskId, url: "https://push.example.com/openwop-conformance" }],
      [GET, { taskId, id: "x" }],
      [LIST, { taskId }],
      [DELETE, { taskId, id: "x" }],
      [LIST, { taskId: "unknown" }],
    ] as const) {
      expect((await gateway.rpc(noPush, method, params)).error?.code).toBe(-32003);
    }
    const before = (await gateway.rpc(noPush, "ListTasks", {})).result.totalSize;
    const { error } = await gateway.send(noPush, { taskPushNotificationConfig: { url: hook.url } });
    expect(error?.code).toBe(-32003);
    expect((await gateway.rpc(noPush, "ListTasks", {})).result.totalSize).toBe(before);
  });

  it("OW-36 push switched off: not on the card, and -32003 for everybody", async () => {
    const off = await startPushGateway({ enabled: false });
    const credential = await off.vend({ push: true });
    const card = (await (await fetch(`${off.url}/.well-known/agent-card.json`)).json()) as CardShape;
    expect(card.capabilities.pushNotifications ?? false).toBe(false);
    const uris = (card.capabilities.extensions ?? []).map(({ uri }) => uri);
    expect(uris).not.toContain("urn:baton:a2a:push-delivery:v1");
    const { result } = await off.send(credential);
    const { error } = await off.rpc(credential, LIST, { taskId: result.task.id });
    expect(error?.code).toBe(-32003);
    expect(await (await off.admin("GetPushStatus", {})).json()).toEqual({});
    await off.stop();
  });

  it("the card says that push is offered and how it is delivered", async () => {
    const card = (await (await fetch(`${gateway.url}/.well-known/agent-card.json`)).json()) as CardShape;
    expect(card.capabilities.pushNotifications).toBe(true);
    expect(card.capabilities.extensions?.map(({ uri }) => uri)).toContain("urn:baton:a2a:push-delivery:v1");
  });

  it("OW-54, SB-80 a hidden task, a foreign config and an unknown one are one answer", async () => {
    const [taskOne, taskTwo] = [await newTask(), await newTask()];
    const { result } = await gateway.rpc(client, CREATE, { taskId: taskOne, url: hook.url });
    const id = result.id as string;
    const answers = [
      await gateway.rpc(client, GET, { taskId: taskOne, id: "unknown" }),
      await gateway.rpc(client, GET, { taskId: taskTwo, id }),
      await gateway.rpc(other, GET, { taskId: taskOne, id }),
      await gateway.rpc(other, GET, { taskId: "td_unknown", id }),
      await gateway.rpc(client, GET, { tenant: "foreign", taskId: taskOne, id }),
    ].map((answer) => normal(answer, taskOne, taskTwo, "td_unknown", id, "unknown"));
    expect(new Set(answers).size).toBe(1);
    for (const method of [LIST, DELETE]) {
      const [hidden, unknown] = [
        await gateway.rpc(other, method, { taskId: taskOne, id }),
        await gateway.rpc(other, method, { taskId: "td_unknown", id }),
      ];
      expect(normal(hidden, taskOne)).toBe(normal(unknown, "td_unknown"));
    }
    const [hidden, unknown] = [
      await gateway.rpc(other, CREATE, { taskId: taskOne, url: hook.url }),
      await gateway.rpc(other, CREATE, { taskId: "td_unknown", url: hook.url }),
    ];
    expect(normal(hidden, taskOne)).toBe(normal(unknown, "td_unknown"));
    // The foreign delete deleted nothing.
    expect((await gateway.rpc(client, GET, { taskId: taskOne, id })).result.id).toBe(id);
    for (let i = 0; i < 2; i++)
      expect((await gateway.rpc(client, DELETE, { taskId: taskOne, id })).error).toBeUndefined();
  });

  it("OW-54, SB-80 where a queue shares its tasks, configs still belong to who made them", async () => {
    const shared = await startPushGateway({}, { agents: { default: { visibility: "queue" } } });
    const [mine, theirs] = [await shared.vend({ push: true }), await shared.vend({ push: true })];
    const { result } = await shared.send(mine);
    const taskId = result.task.id as string;
    for (const credential of [mine, theirs]) {
      await shared.rpc(credential, CREATE, {
        taskId,
        id: "same",
        url: `${hook.url}/${credential.slice(-4)}`,
      });
    }
    for (const credential of [mine, theirs]) {
      const { result: list } = await shared.rpc(credential, LIST, { taskId });
      expect(list.configs.map(({ url }: { url: string }) => url)).toEqual([
        `${hook.url}/${credential.slice(-4)}`,
      ]);
    }
    await shared.rpc(mine, DELETE, { taskId, id: "same" });
    expect((await shared.rpc(theirs, LIST, { taskId })).result.configs).toHaveLength(1);
    await shared.stop();
  });
});

interface CardShape {
  readonly capabilities: {
    readonly pushNotifications?: boolean;
    readonly extensions?: readonly { readonly uri: string }[];
  };
}
