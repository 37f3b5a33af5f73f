import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { VERBS } from "../../src/domain/caller.ts";
import { TOOLS } from "../../src/transports/mcp/tools/table.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { connectMcp, type McpPeer, RawMcp } from "./rig.ts";

let gateway: TestGateway;
let peer: McpPeer;
let raw: RawMcp;
let session: string;
let id: string;

beforeAll(async () => {
  gateway = await startTestGateway({
    agents: { main: { queues: ["default", "reviews"], defaultQueue: "default" } },
    defaultAgent: "main",
  });
  const credential = await gateway.vend({ verbs: VERBS, queues: ["default", "reviews"] });
  peer = await connectMcp(gateway.url, credential);
  raw = new RawMcp(gateway.url, credential);
  session = await raw.session();
  const made = await peer.call("create_for", { title: "Take me" });
  id = (made.todo as { id: string }).id;
  await peer.call("claim", { id });
});
afterAll(async () => {
  await peer.close();
  await gateway.stop();
});

describe("arguments that do not fit", () => {
  it.each([
    ["claim", {}, "id"],
    ["claim", { id: 7 }, "id"],
    ["claim", { id: "  " }, "id"],
    ["claim", { id: "td_x", lease_ttl_seconds: "60" }, "lease_ttl_seconds"],
    ["claim", { id: "td_x", lease_ttl_seconds: 1.5 }, "lease_ttl_seconds"],
    ["claim", { id: "td_x", lease_ttl_seconds: 1e300 }, "lease_ttl_seconds"],
    ["claim", { id: "td_x", require_fence: "yes" }, "require_fence"],
    ["claim", { id: "td_x", owner: "me" }, "owner"],
    ["claim_next", { queue: ["default"] }, "queue"],
    ["heartbeat", { id: "td_x", lease_token: null }, "lease_token"],
    ["list_todos", { state: "open" }, "state"],
    ["get_todo", { id: "td_x", attempts_limit: 51 }, "attempts_limit"],
    ["get_messages", { id: "td_x", after_seq: -1 }, "after_seq"],
    ["require_input", { id: "td_x" }, "message"],
    ["require_input", { id: "td_x", message: "" }, "message"],
    ["require_auth", { id: "td_x", message: { text: "x" } }, "message"],
    ["update_status", { id: "td_x", message: "\ud800" }, "message"],
    ["add_artifact", { id: "td_x" }, "artifact"],
    ["add_artifact", { id: "td_x", artifact: { parts: [] } }, "artifact.parts"],
    ["add_artifact", { id: "td_x", artifact: { parts: [{ text: 5 }] } }, "artifact.parts[0].text"],
    [
      "add_artifact",
      { id: "td_x", artifact: { artifactId: 5, parts: [{ text: "a" }] } },
      "artifact.artifact_id",
    ],
    ["create_for", {}, "title"],
    ["create_for", { title: "   " }, "title"],
    ["create_for", { title: "half \ud800" }, "title"],
    ["create_for", { title: "x", idempotency_key: "k".repeat(256) }, "idempotency_key"],
    ["set_default_lease", {}, "default_lease_ttl_seconds"],
    ["set_default_lease", { default_lease_ttl_seconds: 90.5 }, "default_lease_ttl_seconds"],
  ])("%s %j is invalid_argument and names %s", async (name, args, field) => {
    const { isError, text } = await raw.tool(session, name, args);
    expect(isError).toBe(true);
    expect(text.slice(0, `invalid_argument: ${field}`.length)).toBe(`invalid_argument: ${field}`);
    expect(text).not.toMatch(/\n/);
  });

  it.each([["ftp://x"], ["javascript:alert(1)"], [`https://x/${"a".repeat(600)}`]])(
    "a bad artifact reference %s is invalid, and the todo stays as it was",
    async (artifact) => {
      const { isError, text } = await raw.tool(session, "complete", { id, artifact });
      expect([isError, text.split(":")[0]]).toEqual([true, "invalid"]);
      expect(await peer.call("get_todo", { id })).toMatchObject({ state: "claimed" });
    },
  );

  it("values that cannot be stored are refused, all others come back as they went in", async () => {
    const overflow = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_for","arguments":{"title":"x","payload":{"n":1e400}}}}`;
    const response = await raw.request("POST", overflow, { "mcp-session-id": session });
    const { result } = (await response.json()) as { result: { content: { text: string }[] } };
    expect(result.content[0]?.text).toBe("invalid_argument: payload.n: is out of range");
    for (const payload of [0, false, "", "text", [1, [null, {}]], { a: { b: [true, 1.5, "é🙂"] } }]) {
      const { todo } = (await peer.call("create_for", { title: "keep", payload })) as {
        todo: { id: string };
      };
      expect((await peer.call("claim", { id: todo.id })).payload).toEqual(payload);
      await peer.call("complete", { id: todo.id, result: payload });
      expect((await peer.call("get_todo", { id: todo.id })).result).toEqual(payload);
    }
  });

  it("arguments that are no object, and calls that are none, are protocol errors", async () => {
    const headers = { "mcp-session-id": session };
    for (const params of [
      { name: "claim", arguments: "id" },
      { name: 5 },
      {},
      { arguments: {} },
      { name: "__proto__" },
    ]) {
      const response = await raw.rpc("tools/call", params, headers);
      expect(await response.json()).toMatchObject({ error: { code: -32602 } });
    }
    expect(await (await raw.rpc("tools/destroy", {}, headers)).json()).toMatchObject({
      error: { code: -32601 },
    });
  });

  it("a queue that is not granted reads the same whether it exists or not", async () => {
    const only = await connectMcp(gateway.url, await gateway.vend({ verbs: VERBS, queues: ["default"] }));
    const refusals = await Promise.all(
      ["reviews", "nowhere"].flatMap((queue) => [
        only.call("claim_next", { queue }).catch((error) => `claim ${error.message}`),
        only.call("create_for", { queue, title: "x" }).catch((error) => `create ${error.message}`),
      ]),
    );
    expect(new Set(refusals)).toEqual(
      new Set([
        "claim forbidden: the endpoint is not granted that queue",
        "create forbidden: the endpoint is not granted that queue",
      ]),
    );
    await only.close();
  });
});

describe("the tools as they are shown", () => {
  it("have the parameters of the requirement, every one typed", async () => {
    const { tools } = await peer.client.listTools();
    const shown = Object.fromEntries(
      tools.map(({ name, inputSchema }) => [
        name,
        Object.keys(inputSchema.properties ?? {})
          .map((parameter) => (inputSchema.required?.includes(parameter) ? parameter : `${parameter}?`))
          .join(" "),
      ]),
    );
    expect(shown).toEqual({
      create_for: "queue? title payload? idempotency_key?",
      list_todos: "queue? state? limit?",
      get_todo: "id attempts_limit?",
      get_messages: "id after_seq?",
      claim: "id lease_ttl_seconds? claimant? require_fence?",
      claim_next: "queue? lease_ttl_seconds? claimant? require_fence?",
      heartbeat: "id lease_ttl_seconds? lease_token?",
      complete: "id result? summary? artifact? lease_token?",
      fail: "id result? summary? artifact? lease_token?",
      release: "id summary? artifact? lease_token?",
      reject: "id message? summary? lease_token?",
      require_input: "id message schema? lease_token?",
      require_auth: "id message lease_token?",
      add_artifact: "id artifact append? last_chunk? lease_token?",
      update_status: "id message lease_token?",
      get_default_lease: "",
      set_default_lease: "default_lease_ttl_seconds",
    });
    for (const { name, inputSchema, description } of tools) {
      expect(inputSchema.additionalProperties, name).toBe(false);
      expect(description?.length, name).toBeGreaterThan(20);
    }
  });

  it("there is one for each verb, so that every grant can be used", () => {
    expect([...TOOLS.keys()].sort()).toEqual([...VERBS].sort());
  });
});
