/** A card that cannot be used is worse than none: every address in ours is called, in its own binding. */
import { afterEach, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { Peer } from "../scenarios/actors.ts";
import { DRIVERS } from "./drivers.ts";

let gateway: TestGateway | undefined;
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
});

interface Interface {
  readonly url: string;
  readonly protocolBinding: string;
  readonly protocolVersion: string;
}

async function interfacesOf(base: string): Promise<readonly Interface[]> {
  const response = await fetch(`${base}/.well-known/agent-card.json`);
  const card = (await response.json()) as { supportedInterfaces: readonly Interface[] };
  return card.supportedInterfaces;
}

/** The driver that speaks a binding of 1.0. */
const DRIVER_OF: Readonly<Record<string, string>> = { JSONRPC: "jsonrpc", "HTTP+JSON": "rest", GRPC: "grpc" };

it("A2 each address of the card takes a task and knows it again", async () => {
  gateway = await startTestGateway();
  const token = await gateway.vend();
  const interfaces = (await interfacesOf(gateway.url)).filter(
    ({ protocolVersion }) => protocolVersion === "1.0",
  );
  const seen = new Set<string>();
  for (const { url, protocolBinding } of interfaces) {
    const kind = DRIVERS.find(({ name }) => name === DRIVER_OF[protocolBinding]);
    if (kind === undefined) throw new Error(`no client for ${protocolBinding}`);
    const authority = url.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
    const driver = await kind.connect({ url: url.replace(/\/+$/, ""), authority });
    const peer = new Peer(driver, { token });
    const { id } = await peer.start();
    expect((await peer.get(id)).id, url).toBe(id);
    await driver.close();
    seen.add(protocolBinding);
  }
  expect([...seen].sort()).toEqual(["GRPC", "HTTP+JSON", "JSONRPC"]);
});

it("A2 no address of this machine is in the card of a gateway that the world knows by another name", async () => {
  gateway = await startTestGateway({ publicUrl: "https://a2a.example.com:8443/agents" });
  for (const { url } of await interfacesOf(gateway.url)) {
    expect(url).toMatch(/^(https:\/\/)?a2a\.example\.com:8443(\/|$)/);
    expect(url).not.toMatch(/localhost|127\.0\.0\.1|0\.0\.0\.0/);
  }
});
