import { execFile } from "node:child_process";
import { Socket } from "node:net";
import { promisify } from "node:util";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  compilePolicy,
  createEgressClient,
  EgressDenied,
  EgressFailed,
  systemResolver,
} from "../../src/egress/index.ts";
import { startNameServer, type Zone } from "./name-server.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const ZONES: Readonly<Record<string, Zone>> = {
  "good.example.com": { a: ["93.184.216.34"], aaaa: ["2606:2800:220:1::1"] },
  "v4.example.com": { a: ["93.184.216.34", "93.184.216.35"], aaaa: [] },
  "v6.example.com": { a: [], aaaa: ["2606:2800:220:1::1"] },
  "mixed.example.com": { a: ["93.184.216.34"], aaaa: ["::1"] },
  "second.example.com": { a: ["93.184.216.34", "10.0.0.1"], aaaa: [] },
  "broken6.example.com": { a: ["93.184.216.34"], aaaa: "fail" },
  "silent6.example.com": { a: ["93.184.216.34"], aaaa: "silent" },
  "one.example.com": { cname: "two.example.com" },
  "two.example.com": { cname: "three.example.net" },
  "three.example.net": { a: ["127.0.0.1"], aaaa: [] },
  "fine.example.com": { cname: "good.example.com" },
  "cluster.example.com": { cname: "kubernetes.default.svc.cluster.local" },
  "kubernetes.default.svc.cluster.local": { a: ["10.96.0.1"], aaaa: [] },
  "meta.example.com": { cname: "metadata.google.internal" },
  "metadata.google.internal": { a: ["169.254.169.254"], aaaa: ["fd20:ce::254"] },
  "empty.example.com": { a: [], aaaa: [] },
  "down.example.com": { fault: "fail" },
  "refused.example.com": { fault: "refuse" },
  "silent.example.com": { fault: "silent" },
};

async function withClient<T>(
  work: (check: (host: string) => Promise<unknown>, asked: readonly string[]) => Promise<T>,
) {
  await using server = await startNameServer(ZONES);
  const resolver = systemResolver({ servers: [server.address], timeoutMs: 150, tries: 1 });
  const client = createEgressClient({ policy: compilePolicy(), resolver, timeouts: { totalMs: 3000 } });
  try {
    return await work(
      (host) => client.check(`https://${host}/`).catch((thrown: unknown) => thrown),
      server.asked,
    );
  } finally {
    await client.close();
  }
}

describe("OW-40 S8 the system resolver, against a real DNS server", () => {
  it.each([
    ["good.example.com", ["93.184.216.34", "2606:2800:220:1::1"]],
    ["v4.example.com", ["93.184.216.34", "93.184.216.35"]],
    ["v6.example.com", ["2606:2800:220:1::1"]],
    ["fine.example.com", ["93.184.216.34", "2606:2800:220:1::1"]],
    ["broken6.example.com", ["93.184.216.34"]],
    ["silent6.example.com", ["93.184.216.34"]],
  ])("%s: A and AAAA are both asked and all answers come back", async (host, expected) => {
    await withClient(async (check, asked) => {
      const decision = (await check(host)) as { addresses: { address: string }[] };
      expect(decision.addresses.map(({ address }) => address)).toEqual(expected);
      expect(new Set(asked)).toEqual(new Set([`${host} A`, `${host} AAAA`]));
    });
  });

  it.each([
    ["mixed.example.com", "loopback-v6"],
    ["second.example.com", "private-10"],
    ["one.example.com", "loopback"],
    ["cluster.example.com", "private-10"],
    ["meta.example.com", "metadata"],
  ])("%s is refused by its last address: %s", async (host, range) => {
    const connect = vi.spyOn(Socket.prototype, "connect");
    await withClient(async (check) => {
      const error = await check(host);
      expect(error).toBeInstanceOf(EgressDenied);
      expect(error).toMatchObject({ decision: { arm: "address", range } });
    });
    expect(connect).not.toHaveBeenCalled();
  });

  it.each([
    ["nothing.example.com", "dns_no_answer"],
    ["empty.example.com", "dns_no_answer"],
    ["down.example.com", "dns_failed"],
    ["refused.example.com", "dns_failed"],
    ["silent.example.com", "dns_timeout"],
  ])("%s: an outage is no refusal: %s", async (host, reason) => {
    await withClient(async (check) => {
      const error = await check(host);
      expect(error).toBeInstanceOf(EgressFailed);
      expect(error).toMatchObject({ reason, retryable: true });
    });
  });

  it("a name is asked as it stands: no search list completes it", async () => {
    await withClient(async (check, asked) => {
      await check("nothing.example.com");
      expect(new Set(asked)).toEqual(new Set(["nothing.example.com A", "nothing.example.com AAAA"]));
    });
  });

  it("S29 an internal name that the operator allowed is seen as the machine sees it", async () => {
    const policy = compilePolicy({
      allow: [{ cidr: "127.0.0.0/8" }, { cidr: "::1/128" }],
      allowNames: ["localhost"],
    });
    const client = createEgressClient({ policy });
    expect(await client.check("https://localhost/")).toMatchObject({ allowed: true, host: "localhost" });
    await client.close();
  });

  it("S13 an abort cancels the query at once", async () => {
    await using server = await startNameServer(ZONES);
    const resolver = systemResolver({ servers: [server.address], timeoutMs: 60_000, tries: 1 });
    const client = createEgressClient({ policy: compilePolicy(), resolver, timeouts: { totalMs: 100 } });
    const started = Date.now();
    await expect(client.check("https://silent.example.com/")).rejects.toMatchObject({
      reason: "dns_timeout",
    });
    expect(Date.now() - started).toBeLessThan(1000);
    await client.close();
  });
});

it("D13 a process that checked, posted and closed ends by itself at once", async () => {
  const script = `
    import { compilePolicy, createEgressClient } from ${JSON.stringify(new URL("../../src/egress/index.ts", import.meta.url).href)};
    import { startReceiver } from ${JSON.stringify(new URL("./receiver.ts", import.meta.url).href)};
    import { createAuthority } from ${JSON.stringify(new URL("./certificates.ts", import.meta.url).href)};
    const authority = createAuthority();
    const receiver = await startReceiver({ tls: authority.issue({ addresses: ["127.0.0.1"] }) });
    const policy = compilePolicy({ allow: [{ cidr: "127.0.0.0/8", ports: [receiver.port] }] });
    const client = createEgressClient({ policy, extraCa: [authority.ca] });
    const { status } = await client.post({ url: "https://127.0.0.1:" + receiver.port + "/", body: "{}" });
    await client.close();
    await receiver[Symbol.asyncDispose]();
    const closed = performance.now();
    process.on("exit", () => console.log(JSON.stringify({ status, left: performance.now() - closed })));
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module-typescript", "-e", script],
    { timeout: 10_000 },
  );
  const { status, left } = JSON.parse(stdout) as { status: number; left: number };
  expect(status).toBe(204);
  expect(left).toBeLessThan(1000);
});
