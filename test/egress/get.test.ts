import { afterEach, describe, expect, it } from "vitest";
import {
  compilePolicy,
  createEgressClient,
  type EgressClient,
  EgressDenied,
} from "../../src/egress/index.ts";
import { createAuthority } from "./certificates.ts";
import { type Receiver, type ReceiverOptions, startReceiver } from "./receiver.ts";

const authority = createAuthority();
const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function start(handler: NonNullable<ReceiverOptions["handler"]>, allowed = true) {
  const receiver: Receiver = await startReceiver({
    tls: authority.issue({ addresses: ["127.0.0.1"] }),
    handler,
  });
  const allow = allowed ? [{ cidr: "127.0.0.1/32", ports: [receiver.port] }] : [];
  const client: EgressClient = createEgressClient({
    policy: compilePolicy({ allow }),
    extraCa: [authority.ca],
  });
  open.push(
    () => client.close(),
    async () => receiver[Symbol.asyncDispose](),
  );
  return { receiver, client, url: `https://127.0.0.1:${receiver.port}/keys?a=1` };
}

describe("get", () => {
  it("asks without a body, with the headers given, and returns what was answered", async () => {
    let method: string | undefined;
    const { receiver, client, url } = await start((request, response) => {
      method = request.method;
      response.end('{"keys":[]}');
    });
    const { status, bodyExcerpt, bodyComplete } = await client.get({
      url,
      headers: { accept: "application/json" },
    });
    expect([status, bodyExcerpt.toString(), bodyComplete]).toEqual([200, '{"keys":[]}', true]);
    expect([method, receiver.hits[0]?.url, receiver.hits[0]?.body]).toEqual(["GET", "/keys?a=1", ""]);
    expect(receiver.hits[0]?.headers.accept).toBe("application/json");
  });

  it("reads 64 KiB and says that it was not all", async () => {
    const { client, url } = await start((_, response) => response.end("x".repeat(70_000)));
    const { bodyExcerpt, bodyComplete } = await client.get({ url });
    expect([bodyExcerpt.length, bodyComplete]).toEqual([65_536, false]);
  });

  it("follows no redirect", async () => {
    const { receiver, client, url } = await start((_, response) => {
      response.writeHead(302, { location: "/elsewhere" }).end();
    });
    expect((await client.get({ url })).status).toBe(302);
    expect(receiver.hits).toHaveLength(1);
  });

  it("opens no socket to what is not allowed", async () => {
    const { receiver, client, url } = await start((_, response) => response.end(), false);
    await expect(client.get({ url })).rejects.toBeInstanceOf(EgressDenied);
    await expect(client.get({ url: url.replace("https:", "http:") })).rejects.toBeInstanceOf(EgressDenied);
    expect(receiver.accepted()).toBe(0);
  });
});
