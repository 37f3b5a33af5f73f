import dns from "node:dns";
import { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  compilePolicy,
  createEgressClient,
  type EgressClientOptions,
  EgressDenied,
  type EgressFailed,
} from "../../src/egress/index.ts";
import { createAuthority } from "./certificates.ts";
import { type Receiver, startReceiver, tableResolver } from "./receiver.ts";

const authority = createAuthority();
const tls = authority.issue({ names: ["hook.example.com", "other.example.com"], addresses: ["127.0.0.1"] });
const body = '{"statusUpdate":{}}';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** A client whose guard is on, with one narrow hole: the loopback block, at the receivers' ports. */
function clientFor(receivers: readonly Receiver[], options: Partial<EgressClientOptions> = {}) {
  const ports = receivers.map((receiver) => receiver.port);
  const client = createEgressClient({
    policy: compilePolicy({ allow: [{ cidr: "127.0.0.0/8", ports }] }),
    resolver: tableResolver({ "hook.example.com": [["127.0.0.1"]], "other.example.com": [["127.0.0.1"]] }),
    extraCa: [authority.ca],
    timeouts: { totalMs: 5000, connectMs: 1000 },
    ...options,
  });
  return { ...client, [Symbol.asyncDispose]: () => client.close() };
}

async function failure(work: Promise<unknown>): Promise<EgressFailed> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error as EgressFailed;
}

describe("OW-40 the dialler connects to what was checked", () => {
  it("SNI and Host stay the name, the query is sent, nothing is looked up again", async () => {
    await using receiver = await startReceiver({ tls });
    await using client = clientFor([receiver]);
    const connect = vi.spyOn(Socket.prototype, "connect");
    const lookups = [vi.spyOn(dns, "lookup"), vi.spyOn(dns, "resolve4"), vi.spyOn(dns.promises, "lookup")];
    const url = `https://HOOK.example.com.:${receiver.port}/a/b?token=s3cr3t#part`;
    const result = await client.post({ url, body, headers: { "Content-Type": "application/a2a+json" } });
    expect(result).toMatchObject({ status: 204, remoteAddress: "127.0.0.1", decision: { allowed: true } });
    expect(receiver.hits).toEqual([
      expect.objectContaining({
        host: `hook.example.com:${receiver.port}`,
        servername: "hook.example.com",
        url: "/a/b?token=s3cr3t",
        body,
      }),
    ]);
    expect(receiver.hits[0]?.headers["content-type"]).toBe("application/a2a+json");
    for (const lookup of lookups) expect(lookup).not.toHaveBeenCalled();
    expect(connect).toHaveBeenCalledTimes(1);
  });

  it("SB-76 a name that is public at registration and loopback at delivery gets no socket", async () => {
    await using receiver = await startReceiver({ tls });
    const resolver = tableResolver({
      "hook.example.com": [["93.184.216.34"], ["127.0.0.1"], ["93.184.216.34", "127.0.0.1"]],
    });
    await using client = clientFor([receiver], {
      resolver,
      policy: compilePolicy({ ports: [receiver.port] }),
    });
    const url = `https://hook.example.com:${receiver.port}/`;
    const connect = vi.spyOn(Socket.prototype, "connect");
    expect(await client.check(url)).toMatchObject({ allowed: true });
    for (let attempt = 0; attempt < 3; attempt++) {
      const error = await failure(client.post({ url, body }));
      expect(error).toBeInstanceOf(EgressDenied);
      expect(error).toMatchObject({ retryable: false, decision: { arm: "address", range: "loopback" } });
    }
    expect(resolver.asked.length).toBe(4);
    expect(connect).not.toHaveBeenCalled();
    expect(receiver.accepted()).toBe(0);
  });

  it("SB-76 a kept connection is not used again once the name leads elsewhere", async () => {
    await using receiver = await startReceiver({ tls });
    const resolver = tableResolver({ "hook.example.com": [["127.0.0.1"], ["10.0.0.1"]] });
    await using client = clientFor([receiver], { resolver });
    const url = `https://hook.example.com:${receiver.port}/`;
    expect((await client.post({ url, body })).status).toBe(204);
    expect(await failure(client.post({ url, body }))).toBeInstanceOf(EgressDenied);
    expect(receiver.hits.length).toBe(1);
  });

  it("keeps a connection for the same name and address, and for no other", async () => {
    await using receiver = await startReceiver({ tls });
    const resolver = tableResolver({
      "hook.example.com": [["127.0.0.1"]],
      "other.example.com": [["127.0.0.1"]],
    });
    await using client = clientFor([receiver], { resolver });
    const post = (host: string) => client.post({ url: `https://${host}:${receiver.port}/`, body });
    for (let i = 0; i < 3; i++) await post("hook.example.com");
    expect(receiver.accepted()).toBe(1);
    await post("other.example.com");
    expect(receiver.accepted()).toBe(2);
    expect(receiver.hits.map((hit) => hit.servername)).toEqual([
      ...Array(3).fill("hook.example.com"),
      "other.example.com",
    ]);
  });

  it("SB-76 a name that moved is dialled at its new address, though the old connection is still open", async () => {
    await using before = await startReceiver({ tls });
    await using after = await startReceiver({ tls, address: "127.0.0.2", port: before.port });
    const resolver = tableResolver({ "hook.example.com": [["127.0.0.1"], ["127.0.0.2"]] });
    await using client = clientFor([before], { resolver });
    const url = `https://hook.example.com:${before.port}/`;
    expect((await client.post({ url, body })).remoteAddress).toBe("127.0.0.1");
    expect((await client.post({ url, body })).remoteAddress).toBe("127.0.0.2");
    expect([before.hits.length, after.hits.length, before.open()]).toEqual([1, 1, 1]);
  });

  it("a connection that ended elsewhere than at the checked address is dropped before TLS", async () => {
    await using receiver = await startReceiver({ tls });
    await using client = clientFor([receiver]);
    Object.defineProperty(TLSSocket.prototype, "remoteAddress", {
      get: () => "10.0.0.9",
      configurable: true,
    });
    const error = await failure(
      client.post({ url: `https://hook.example.com:${receiver.port}/`, body }),
    ).finally(() => Reflect.deleteProperty(TLSSocket.prototype, "remoteAddress"));
    expect(error).toMatchObject({ reason: "connect_failed", code: "EADDRESS", requestStarted: false });
    expect(receiver.hits).toEqual([]);
  });

  it("tries the other checked addresses while nothing was sent", async () => {
    await using receiver = await startReceiver({ tls });
    const resolver = tableResolver({ "hook.example.com": [["127.0.0.2", "127.0.0.3", "127.0.0.1"]] });
    await using client = clientFor([receiver], { resolver });
    const result = await client.post({ url: `https://hook.example.com:${receiver.port}/`, body });
    expect(result.remoteAddress).toBe("127.0.0.1");
    expect(receiver.hits.length).toBe(1);
  });

  it("an IP literal is judged, needs no DNS, and its certificate must name it", async () => {
    await using receiver = await startReceiver({ tls });
    await using elsewhere = await startReceiver({ tls, address: "127.0.0.2" });
    const resolver = tableResolver({});
    await using client = clientFor([receiver, elsewhere], { resolver });
    expect((await client.post({ url: `https://127.0.0.1:${receiver.port}/`, body })).status).toBe(204);
    expect((await client.post({ url: `https://0x7f000001:${receiver.port}/`, body })).status).toBe(204);
    expect(await failure(client.post({ url: `https://127.0.0.2:${elsewhere.port}/`, body }))).toMatchObject({
      reason: "tls_certificate",
    });
    expect(resolver.asked).toEqual([]);
  });

  it("A2A-196 http goes only where an entry says plaintext", async () => {
    await using receiver = await startReceiver({});
    const policy = compilePolicy({
      allow: [{ cidr: "127.0.0.0/8", ports: [receiver.port], plaintext: true }],
      allowNames: ["localhost"],
    });
    await using client = clientFor([receiver], {
      policy,
      resolver: tableResolver({ localhost: [["127.0.0.1"]] }),
    });
    expect((await client.post({ url: `http://localhost:${receiver.port}/`, body })).status).toBe(204);
    await using strict = clientFor([receiver]);
    expect(await failure(strict.post({ url: `http://127.0.0.1:${receiver.port}/`, body }))).toMatchObject({
      decision: { arm: "scheme", reason: "scheme_not_https" },
    });
  });

  it("our own listener is refused even inside an allowed block", async () => {
    await using receiver = await startReceiver({ tls });
    const policy = compilePolicy({
      allow: [{ cidr: "127.0.0.0/8", ports: [receiver.port] }],
      ownListeners: [{ address: "::", port: receiver.port }],
    });
    await using client = clientFor([receiver], { policy });
    const error = await failure(client.post({ url: `https://hook.example.com:${receiver.port}/`, body }));
    expect(error).toMatchObject({ decision: { reason: "address_own_listener" } });
    expect(receiver.accepted()).toBe(0);
  });

  it("no proxy environment is consulted", async () => {
    await using receiver = await startReceiver({ tls });
    await using proxy = await startReceiver({});
    for (const name of ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"]) {
      vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`);
    }
    vi.stubEnv("NODE_USE_ENV_PROXY", "1");
    vi.stubEnv("NO_PROXY", "");
    await using client = clientFor([receiver]);
    expect((await client.post({ url: `https://hook.example.com:${receiver.port}/`, body })).status).toBe(204);
    expect(proxy.accepted()).toBe(0);
    expect(receiver.hits.length).toBe(1);
  });
});

describe("OW-41 A2A-201 S4 S11 redirects", () => {
  it.each([300, 301, 302, 303, 307, 308])(
    "%i comes back as it is, and nothing reaches its target",
    async (status) => {
      await using target = await startReceiver({ tls });
      await using receiver = await startReceiver({
        tls,
        handler: (_request, response) => {
          response.writeHead(status, { location: `https://hook.example.com:${target.port}/stolen` }).end();
        },
      });
      await using client = clientFor([receiver, target]);
      const headers = { authorization: "Bearer s3cr3t" };
      const result = await client.post({ url: `https://hook.example.com:${receiver.port}/`, body, headers });
      expect(result.status).toBe(status);
      expect(receiver.hits.length).toBe(1);
      expect(target.accepted()).toBe(0);
    },
  );
});

describe("certificates", () => {
  const cases = [
    ["another name", () => authority.issue({ names: ["evil.example.com"] })],
    ["an expired one", () => authority.issue({ names: ["hook.example.com"], expired: true })],
    ["an unknown authority", () => createAuthority("Somebody else").issue({ names: ["hook.example.com"] })],
    ["the address only", () => authority.issue({ addresses: ["127.0.0.1"] })],
  ] as const;
  it.each(cases)(
    "%s: refused before a byte of the request, whatever the environment says",
    async (_title, issue) => {
      vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
      await using receiver = await startReceiver({ tls: issue() });
      await using client = clientFor([receiver]);
      const error = await failure(client.post({ url: `https://hook.example.com:${receiver.port}/`, body }));
      expect(error).toMatchObject({ reason: "tls_certificate", requestStarted: false, retryable: true });
      expect(receiver.hits).toEqual([]);
    },
  );

  it("cleartext behind an https URL is a TLS failure", async () => {
    await using receiver = await startReceiver({});
    await using client = clientFor([receiver]);
    const error = await failure(client.post({ url: `https://hook.example.com:${receiver.port}/`, body }));
    expect(error).toMatchObject({ reason: "tls_failed", requestStarted: false });
    expect(receiver.hits).toEqual([]);
  });
});

describe("A2A-200 FR-50 S5 headers", () => {
  it.each([
    ["x-token", "abc\r\nX-Evil: 1"],
    ["x-token", "t\n"],
    ["x-token", "a\rb"],
    ["x-token", "a\0b"],
    ["x-token", "a\u2028b"],
    ["x-token", "a".repeat(9000)],
    ["authorization", "Bearer x\r\ny z"],
    ["x\r\nx-evil", "1"],
    ["x token", "1"],
    ["", "1"],
    ["Host", "evil.example.com"],
    ["Transfer-Encoding", "chunked"],
    ["content-length", "3"],
    ["Proxy-Authorization", "Basic x"],
    ["connection", "upgrade"],
  ])("%j: %j is refused before DNS", async (name, value) => {
    await using receiver = await startReceiver({ tls });
    const resolver = tableResolver({ "hook.example.com": [["127.0.0.1"]] });
    await using client = clientFor([receiver], { resolver });
    const url = `https://hook.example.com:${receiver.port}/`;
    const error = await failure(client.post({ url, body, headers: { [name]: value } }));
    expect(error).toMatchObject({ reason: "request_header", retryable: false, requestStarted: false });
    expect(resolver.asked).toEqual([]);
    expect(receiver.accepted()).toBe(0);
  });
});
