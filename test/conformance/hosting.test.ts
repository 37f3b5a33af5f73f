/** Several agents in one gateway: each with its own card, queues, credentials and tasks; never one for another. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { message } from "../scenarios/actors.ts";
import type { Driver } from "../scenarios/driver.ts";
import { DRIVERS } from "./drivers.ts";
import { connect, peerOf, refusal, workerOf } from "./rig.ts";

const skill = (id: string) => ({ id, name: id, description: `Does ${id}.` });

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({
    agents: {
      front: { card: { name: "Front", skills: [skill("answer")] } },
      blue: {
        discoverable: true,
        card: { name: "Blue", skills: [skill("paint")], defaultInputModes: ["image/png"] },
        queues: ["walls", "doors"],
        defaultQueue: "walls",
      },
      hidden: { discoverable: false },
    },
    defaultAgent: "front",
  });
});
afterAll(() => gateway?.stop());

interface Card {
  readonly name: string;
  readonly skills: readonly { readonly id: string }[];
  readonly supportedInterfaces: readonly {
    readonly url: string;
    readonly tenant?: string;
    readonly protocolBinding: string;
    readonly protocolVersion: string;
  }[];
}

async function card(path: string): Promise<Card> {
  const response = await fetch(`${gateway.url}${path}/.well-known/agent-card.json`, {
    headers: { "a2a-version": "1.0" },
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Card;
}

async function post(path: string, body: unknown, token: string): Promise<{ status: number; body: string }> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0", authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.text() };
}

async function get(path: string, token: string): Promise<number> {
  const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  await response.text();
  return response.status;
}

describe("cards", () => {
  it("A2A-177 each agent has its own, the default one at the root", async () => {
    const [root, front, blue] = [await card(""), await card("/front"), await card("/blue")];
    expect([root.name, front.name, blue.name]).toEqual(["Front", "Front", "Blue"]);
    expect(blue.skills.map(({ id }) => id)).toEqual(["paint"]);
    expect(root.supportedInterfaces.every(({ tenant }) => (tenant ?? "") === "")).toBe(true);
    const own = blue.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === "1.0");
    expect(own.map(({ protocolBinding, tenant }) => [protocolBinding, tenant])).toEqual([
      ["GRPC", "blue"],
      ["JSONRPC", "blue"],
      ["HTTP+JSON", "blue"],
    ]);
  });

  it("A2A-149 gRPC is hostname and port without a scheme", async () => {
    for (const { url, protocolBinding } of (await card("/blue")).supportedInterfaces) {
      if (protocolBinding === "GRPC") expect(url).toBe(new URL(gateway.url).host);
      else expect(URL.canParse(url)).toBe(true);
    }
  });

  it("A2A-150 Connect and gRPC-Web are no bindings of A2A and stand in no card", async () => {
    const bindings = (await card("")).supportedInterfaces.map(({ protocolBinding }) => protocolBinding);
    expect(new Set(bindings)).toEqual(new Set(["GRPC", "JSONRPC", "HTTP+JSON"]));
  });

  it("A2A-10 an agent that is not there and one that is not shown are one answer", async () => {
    // Hidden agents keep their card to those who know of them; what that means is the card handler's business.
    const answers = await Promise.all(
      ["/nobody", "/front%2Fblue", "/%20"].map(async (path) => {
        const response = await fetch(`${gateway.url}${path}/.well-known/agent-card.json`);
        return [response.status, await response.text()];
      }),
    );
    expect(new Set(answers.map(([status]) => status))).toEqual(new Set([404]));
  });
});

describe.each(DRIVERS.map((kind) => [kind.name, kind] as const))("%s", (_, kind) => {
  let driver: Driver;
  beforeAll(async () => {
    driver = await connect(kind, gateway);
  });
  afterAll(() => driver?.close());

  it("A2A-17 the tenant in the message reaches the agent, and so does none", async () => {
    const blue = await peerOf(driver, gateway, { agent: "blue", queues: ["walls"] });
    const worker = await workerOf(gateway, { agent: "blue", queues: ["walls"] });
    const { id } = await blue.start("x", { tenant: "blue" });
    expect((await blue.get(id, { tenant: "blue" })).id).toBe(id);
    expect((await blue.get(id)).id).toBe(id);
    await worker.do(id);
    expect((await blue.list({ tenant: "blue" })).totalSize).toBe(1);
  });

  it("SB-2 a credential of one agent is refused at another, and nothing is made", async () => {
    const front = await peerOf(driver, gateway);
    const blue = await peerOf(driver, gateway, { agent: "blue", queues: ["walls"] });
    const { id } = await blue.start();
    for (const call of [
      () => front.start("x", { tenant: "blue" }),
      () => front.get(id, { tenant: "blue" }),
      () => front.cancel(id, { tenant: "blue" }),
      () => front.list({ tenant: "blue" }),
      () => front.open("SubscribeToTask", { id, tenant: "blue" }),
      () => front.get("never-was", { tenant: "blue" }),
    ]) {
      const { reason, message: text } = await refusal(call());
      expect([reason, text]).toEqual(["FORBIDDEN", "the credential does not match this agent"]);
    }
    expect((await refusal(front.get(id))).reason).toBe("TASK_NOT_FOUND");
    expect((await blue.list()).totalSize).toBe(1);
  });

  it("A2A-17, FR-47 an agent that is not here is never the default one", async () => {
    const front = await peerOf(driver, gateway);
    const { id } = await front.start();
    for (const tenant of ["nobody", "Front", "front ", "front/blue", "constructor", "__proto__", "*"]) {
      expect((await refusal(front.start("x", { tenant }))).reason).toBe("INVALID_PARAMS");
      expect((await refusal(front.get(id, { tenant }))).reason).toBe("TASK_NOT_FOUND");
      expect((await refusal(front.list({ tenant }))).reason).toBe("INVALID_PARAMS");
    }
    expect((await front.list()).totalSize).toBe(1);
  });

  it("A2A-37 what an agent takes is its own card's affair", async () => {
    const part = { parts: [{ raw: "aGk=", mediaType: "image/png" }] };
    const front = await peerOf(driver, gateway);
    const blue = await peerOf(driver, gateway, { agent: "blue", queues: ["walls"] });
    expect((await refusal(front.start(message("", part)))).reason).toBe("CONTENT_TYPE_NOT_SUPPORTED");
    expect((await blue.start(message("", part))).id).not.toBe("");
    expect(
      (await refusal(blue.start(message("", { parts: [{ text: "x", mediaType: "text/plain" }] })))).reason,
    ).toBe("CONTENT_TYPE_NOT_SUPPORTED");
  });

  it("SB-3 a todo of one queue is claimed by no worker of another", async () => {
    const blue = await peerOf(driver, gateway, { agent: "blue", queues: ["walls", "doors"] });
    const doors = await workerOf(gateway, { agent: "blue", queues: ["doors"] });
    const frontWorker = await workerOf(gateway);
    const { id } = await blue.start("x");
    await expect(doors.claim(id)).rejects.toThrow(/not found/);
    await expect(frontWorker.claim(id)).rejects.toThrow(/not found/);
  });
});

describe("paths", () => {
  const send = () => ({ message: message("x"), configuration: { returnImmediately: true } });

  it("A2A-17 the tenant of the path and of the body must agree", async () => {
    const token = await gateway.vend({ agent: "blue", queues: ["walls"] });
    expect((await post("/blue/message:send", { ...send(), tenant: "blue" }, token)).status).toBe(200);
    const clash = await post("/blue/message:send", { ...send(), tenant: "front" }, token);
    expect(clash.status).toBe(400);
    expect(clash.body).toContain('"field":"tenant"');
    const rpc = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { ...send(), tenant: "front" } };
    expect(JSON.parse((await post("/blue", rpc, token)).body).error.code).toBe(-32602);
  });

  it("FR-47 a path of no agent is 404 on every method, whoever asks, and makes no task", async () => {
    const token = await gateway.vend();
    expect(await get("/whatever/tasks", token)).toBe(404);
    expect(await get("/whatever/tasks/x", token)).toBe(404);
    expect((await post("/whatever/message:send", send(), token)).status).toBe(404);
    const rpc = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: send() };
    expect((await post("/whatever", rpc, token)).status).toBe(404);
    expect(await get("/tasks", token)).toBe(200);
  });

  it("FR-48 an encoded slash is part of a name and never cuts it", async () => {
    const token = await gateway.vend({ agent: "blue", queues: ["walls"] });
    for (const path of [
      "/team%2Fblue/message:send",
      "/%2Fblue/message:send",
      "/front%2F..%2Fblue/message:send",
    ]) {
      expect((await post(path, send(), token)).status, path).toBe(404);
    }
    expect((await post("/%62lue/message:send", send(), token)).status).toBe(200);
    expect((await post("/%2562lue/message:send", send(), token)).status).toBe(404);
  });
});
