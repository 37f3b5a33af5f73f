/** Behind a proxy: addresses in cards, who the client is, and that nobody else may say so. */
import { createServer, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Forwarded } from "../../src/transports/forwarded.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";

const open: { stop(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.stop();
});

async function start(document: Record<string, unknown>): Promise<TestGateway> {
  const gateway = await startTestGateway(document);
  open.push(gateway);
  return gateway;
}

interface Card {
  readonly url?: string;
  readonly supportedInterfaces: readonly {
    readonly url: string;
    readonly protocolBinding: string;
    readonly protocolVersion: string;
    readonly tenant?: string;
  }[];
}

async function card(base: string, headers: Record<string, string> = {}): Promise<Card> {
  const response = await fetch(`${base}/.well-known/agent-card.json`, { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as Card;
}

function urls(of: Card): string[] {
  return of.supportedInterfaces.map(({ protocolBinding, url }) => `${protocolBinding} ${url}`);
}

/** A reverse proxy that takes a prefix away and says so, as ingress controllers do. */
async function prefixProxy(prefix: string, target: TestGateway, says: boolean): Promise<string> {
  const server: Server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? "";
    if (!path.startsWith(prefix)) {
      outgoing.writeHead(404).end();
      return;
    }
    const headers = {
      ...incoming.headers,
      ...(says
        ? {
            "x-forwarded-host": incoming.headers.host,
            "x-forwarded-proto": "http",
            "x-forwarded-prefix": prefix,
            "x-forwarded-for": "203.0.113.7",
          }
        : {}),
    };
    const options = { host: "127.0.0.1", port: target.port, path: path.slice(prefix.length) || "/" };
    const onward = httpRequest({ ...options, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  open.push({ stop: () => new Promise((done) => server.close(done)) });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function call(url: string, body: unknown, token: string): Promise<number> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  await response.text();
  return response.status;
}

const send = () => ({
  message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "x" }] },
  configuration: { returnImmediately: true },
});

/** Calls every HTTP interface of a card as a client would. */
async function callAll(of: Card, token: string): Promise<void> {
  for (const { url, protocolBinding, protocolVersion } of of.supportedInterfaces) {
    if (protocolBinding === "JSONRPC" && protocolVersion === "1.0") {
      const request = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: send() };
      expect(await call(url, request, token), url).toBe(200);
    } else if (protocolBinding === "HTTP+JSON" && protocolVersion === "1.0") {
      expect(await call(`${url}/message:send`, send(), token), url).toBe(200);
    } else if (protocolBinding === "HTTP+JSON") {
      const text = { messageId: crypto.randomUUID(), role: "ROLE_USER", content: [{ text: "x" }] };
      const request = { message: text, configuration: { blocking: false } };
      expect(await call(`${url}/v1/message:send`, request, token), url).toBe(200);
    }
  }
}

describe("cards", () => {
  it("A1, FR-69 every address is made from the configured base, prefix and port and all", async () => {
    const gateway = await start({
      publicUrl: "https://agents.example:8443/x/agent/",
      agents: { a: {}, b: {} },
      defaultAgent: "a",
    });
    expect(urls(await card(gateway.url, { "a2a-version": "1.0" }))).toEqual([
      "GRPC agents.example:8443",
      "JSONRPC https://agents.example:8443/x/agent",
      "HTTP+JSON https://agents.example:8443/x/agent",
      "JSONRPC https://agents.example:8443/x/agent",
      "GRPC agents.example:8443",
      "HTTP+JSON https://agents.example:8443/x/agent",
    ]);
    const hostile = {
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "http",
      "x-forwarded-prefix": "/e",
    };
    expect(await card(gateway.url, hostile)).toEqual(await card(gateway.url));
  });

  it("A1, FR-69 behind a proxy that takes a prefix away, every listed address works as written", async () => {
    const gateway = await start({ listen: { port: 0, trustedProxies: ["127.0.0.0/8"] } });
    const proxy = await prefixProxy("/x/agent", gateway, true);
    const seen = await card(`${proxy}/x/agent`);
    for (const { protocolBinding, url } of seen.supportedInterfaces) {
      expect(url).toBe(protocolBinding === "GRPC" ? new URL(proxy).host : `${proxy}/x/agent`);
    }
    expect(seen.url).toBe(`${proxy}/x/agent`);
    await callAll(seen, await gateway.vend());
  });

  it("A1 the same by configuration alone, with a proxy that says nothing", async () => {
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const port = (server.address() as AddressInfo).port;
    await new Promise((done) => server.close(done));
    const gateway = await start({ publicUrl: `http://127.0.0.1:${port}/p` });
    const proxy = await prefixProxy("/p", gateway, false);
    const seen = await card(`${proxy}/p`);
    expect(urls(seen)).toContain(`HTTP+JSON http://127.0.0.1:${port}/p`);
    const moved = seen.supportedInterfaces.map((each) => ({
      ...each,
      url: each.url.replace(`http://127.0.0.1:${port}`, proxy),
    }));
    await callAll({ supportedInterfaces: moved }, await gateway.vend());
  });

  it("FR-69 nobody but a named proxy moves the addresses of a card", async () => {
    const untrusting = await start({});
    const other = await start({ listen: { port: 0, trustedProxies: ["192.0.2.0/24", "2001:db8::/32"] } });
    const hostile = {
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "https",
      "x-forwarded-prefix": "/e",
    };
    for (const gateway of [untrusting, other]) {
      expect(await card(gateway.url, hostile)).toEqual(await card(gateway.url));
    }
  });

  it("FR-69 what makes no address is not used, whoever says it", async () => {
    const gateway = await start({ listen: { port: 0, trustedProxies: ["127.0.0.1"] } });
    const plain = urls(await card(gateway.url));
    const good = {
      "x-forwarded-host": "good.example:81",
      "x-forwarded-proto": "https",
      "x-forwarded-prefix": "/a/b/",
    };
    expect(urls(await card(gateway.url, good))).toContain("JSONRPC https://good.example:81/a/b");
    for (const [name, value] of [
      ["x-forwarded-host", "evil.example/path"],
      ["x-forwarded-host", "user@evil.example"],
      ["x-forwarded-host", "a b"],
      ["x-forwarded-proto", "javascript"],
      ["x-forwarded-prefix", "no-slash"],
      ["x-forwarded-prefix", "/a?b=c"],
      ["x-forwarded-prefix", "//evil.example"],
    ] as const) {
      expect(urls(await card(gateway.url, { ...good, [name]: value })), `${name}: ${value}`).toEqual(plain);
    }
  });
});

describe("limits", () => {
  const limits = { perAddress: { perSecond: 0.001, burst: 3 } };
  const unauthenticated = async (gateway: TestGateway, from: string) => {
    const response = await fetch(`${gateway.url}/tasks`, { headers: { "x-forwarded-for": from } });
    await response.text();
    return response.status;
  };

  it("SB-52, FR-69 the limit for each address counts the client behind a named proxy", async () => {
    const gateway = await start({ listen: { port: 0, trustedProxies: ["127.0.0.1"] }, limits });
    const flood = "198.51.100.1";
    for (let i = 0; i < 8; i += 1) await unauthenticated(gateway, flood);
    expect(await unauthenticated(gateway, flood)).toBe(429);
    expect(await unauthenticated(gateway, "198.51.100.2")).toBe(401);
    // What the client itself wrote stands to the left of what the proxy added.
    expect(await unauthenticated(gateway, `203.0.113.99, ${flood}`)).toBe(429);
    expect(await unauthenticated(gateway, `${flood}, 198.51.100.3`)).toBe(401);
  });

  it("SB-52 without a named proxy the header is only text", async () => {
    const gateway = await start({ limits });
    for (let i = 0; i < 8; i += 1) await unauthenticated(gateway, `198.51.100.${i}`);
    expect(await unauthenticated(gateway, "198.51.100.200")).toBe(429);
  });
});

it("FR-69 the client is the first from the right that is no proxy of ours", () => {
  const forwarded = new Forwarded(["10.0.0.0/8", "192.0.2.1", "fd00::/8"]);
  const cases: readonly (readonly [peer: string, header: string, client: string])[] = [
    ["203.0.113.1", "198.51.100.1", "203.0.113.1"],
    ["10.1.2.3", "198.51.100.1", "198.51.100.1"],
    ["::ffff:10.1.2.3", "198.51.100.1", "198.51.100.1"],
    ["fd00::1", "2001:db8::7", "2001:db8::7"],
    ["10.1.2.3", "6.6.6.6, 198.51.100.1, 192.0.2.1, 10.9.9.9", "198.51.100.1"],
    ["10.1.2.3", "198.51.100.1:4711", "198.51.100.1"],
    ["10.1.2.3", "[2001:db8::7]:4711", "2001:db8::7"],
    ["10.1.2.3", "", "10.1.2.3"],
    ["10.1.2.3", "unknown", "10.1.2.3"],
    ["10.1.2.3", "198.51.100.1, unknown, 10.9.9.9", "10.9.9.9"],
    ["10.1.2.3", "10.4.4.4", "10.4.4.4"],
  ];
  for (const [peer, header, client] of cases)
    expect([peer, header, forwarded.client(peer, header)]).toEqual([peer, header, client]);
});
