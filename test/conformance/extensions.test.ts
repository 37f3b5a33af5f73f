/** Negotiation of extensions, with an agent that has one and an agent that demands one. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PUSH_DELIVERY_URI } from "../../src/push/extension.ts";
import { RESUMABLE_STREAMS_URI } from "../../src/service/resumable-streams.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import type { Driver } from "../scenarios/driver.ts";
import { DRIVERS } from "./drivers.ts";
import { connect, peerOf, refusal } from "./rig.ts";

const TRACE = "https://ext.example/trace/v1";
const CONSENT = "https://ext.example/consent/v2";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({
    agents: {
      default: {
        card: { extensions: [{ uri: TRACE, description: "Traces.", params: { depth: [1, null] } }] },
      },
      strict: {
        discoverable: true,
        card: { extensions: [{ uri: TRACE }, { uri: CONSENT, required: true }] },
      },
    },
  });
});
afterAll(() => gateway?.stop());

async function card(path: string): Promise<{ capabilities: { extensions: unknown } }> {
  const response = await fetch(`${gateway.url}${path}/.well-known/agent-card.json`);
  return (await response.json()) as { capabilities: { extensions: unknown } };
}

describe.each(DRIVERS.map((kind) => [kind.name, kind] as const))("%s", (_, kind) => {
  let driver: Driver;
  beforeAll(async () => {
    driver = await connect(kind, gateway);
  });
  afterAll(() => driver?.close());

  const echoed = async (headers: Record<string, string>) => {
    const peer = (await peerOf(driver, gateway)).with({ headers });
    return (await peer.call("GetTask", { id: (await peer.start()).id })).headers.get("a2a-extensions");
  };

  it("A2A-24, A2A-25 the answer names those that are active, from a list with blanks and repeats", async () => {
    expect(await echoed({ "a2a-extensions": `urn:none, ,${TRACE},,${TRACE}` })).toBe(TRACE);
    expect(await echoed({ "a2a-extensions": `${RESUMABLE_STREAMS_URI},${TRACE}` })).toBe(
      `${RESUMABLE_STREAMS_URI}, ${TRACE}`,
    );
  });

  it("A2A-27 without any of ours no extension is named", async () => {
    expect(await echoed({})).toBeNull();
    expect(await echoed({ "a2a-extensions": `urn:none,${TRACE}/more` })).toBeNull();
  });

  it("A2A-175 the spelling of 0.3 counts too", async () => {
    expect(await echoed({ "x-a2a-extensions": TRACE })).toBe(TRACE);
  });

  it("A2A-26 who does not declare a required extension is told which, on every call, and nothing is done", async () => {
    const peer = await peerOf(driver, gateway, { agent: "strict" });
    for (const call of [
      () => peer.start(),
      () => peer.stream(),
      () => peer.get("x"),
      () => peer.list(),
      () => peer.cancel("x"),
      () => peer.subscribe("x"),
      () => peer.with({ headers: { "a2a-extensions": TRACE } }).start(),
    ]) {
      const seen = await refusal(call());
      expect(seen).toMatchObject({
        reason: "EXTENSION_SUPPORT_REQUIRED",
        domain: "a2a-protocol.org",
        metadata: { extension: CONSENT },
      });
    }
    const consenting = peer.with({ headers: { "a2a-extensions": CONSENT } });
    expect((await consenting.list()).totalSize).toBe(0);
    const { id } = await consenting.start();
    expect((await consenting.get(id)).id).toBe(id);
  });

  it("A2A-10 a foreign credential learns nothing of an agent's extensions", async () => {
    const seen = await refusal(
      (await peerOf(driver, gateway)).call("GetTask", { id: "x", tenant: "strict" }),
    );
    expect(seen.reason).toBe("FORBIDDEN");
  });
});

it("A2A-26, A2A-178 the card lists the extensions of the agent, ours first", async () => {
  const own = [
    expect.objectContaining({ uri: RESUMABLE_STREAMS_URI }),
    expect.objectContaining({ uri: PUSH_DELIVERY_URI }),
  ];
  expect((await card("")).capabilities.extensions).toEqual([
    ...own,
    { uri: TRACE, description: "Traces.", params: { depth: [1, null] } },
  ]);
  expect((await card("/strict")).capabilities.extensions).toEqual([
    ...own,
    { uri: TRACE },
    { uri: CONSENT, required: true },
  ]);
});

it("A2A-175 a 0.3 answer names them in both spellings", async () => {
  const answer = await fetch(gateway.url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${await gateway.vend()}`,
      "content-type": "application/json",
      "x-a2a-extensions": TRACE,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { id: "x" } }),
  });
  // Told to a call that fails, too: the extension was active when it was looked at.
  expect(await answer.json()).toMatchObject({ error: { code: -32001 } });
  const sent = await fetch(gateway.url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${await gateway.vend()}`,
      "content-type": "application/json",
      "x-a2a-extensions": TRACE,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: {
        message: { kind: "message", messageId: "e1", role: "user", parts: [{ kind: "text", text: "x" }] },
        configuration: { blocking: false },
      },
    }),
  });
  expect([sent.headers.get("a2a-extensions"), sent.headers.get("x-a2a-extensions")]).toEqual([TRACE, TRACE]);
});
