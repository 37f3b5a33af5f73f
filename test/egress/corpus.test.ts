import { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import {
  compilePolicy,
  createEgressClient,
  EgressDenied,
  type EgressResolver,
  SPECIAL_RANGES,
  type SpecialRange,
} from "../../src/egress/index.ts";
import { createAuthority } from "./certificates.ts";
import { type CorpusRow, readCorpus } from "./corpus.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const authority = createAuthority();
const tls = authority.issue({ names: ["hook.example.com"], addresses: ["127.0.0.1", "::1"] });
const rows = readCorpus(0);

/** The listener would take whatever the guard lets go astray: it is on every address of the machine. */
let trap: Receiver;

beforeAll(async () => {
  trap = await startReceiver({ tls, address: "::" });
});
afterAll(async () => {
  await trap[Symbol.asyncDispose]();
});
afterEach(() => {
  vi.restoreAllMocks();
});

function answering(row: CorpusRow): EgressResolver & { asked: number } {
  return {
    asked: 0,
    async resolve() {
      this.asked++;
      return row.answers ?? ["93.184.216.34"];
    },
  };
}

function clientFor(row: CorpusRow) {
  const resolver = answering(row);
  const policy = compilePolicy({ ports: [443, 8443, trap.port] });
  const timeouts = { totalMs: 3000, connectMs: 1000 };
  return { resolver, client: createEgressClient({ policy, resolver, extraCa: [authority.ca], timeouts }) };
}

const title = (row: CorpusRow, i: number) =>
  `${i} ${row.why}: ${JSON.stringify(row.url.slice(0, 90))} ${row.answers ?? ""}`;

describe("OW-37 OW-38 OW-39 OW-40 OW-42 FR-51 SB-76 A2A-108 A2A-196 the corpus", () => {
  it("has at least 300 refused URLs and touches every row of the table", () => {
    expect(rows.filter((row) => !row.allowed).length).toBeGreaterThanOrEqual(300);
    const seen = new Set(rows.map((row) => row.range));
    // The three that always decide by what is inside, or whose rows are whole families, never decide by themselves.
    const silent = new Set(["ipv4-compatible", "ipv4-mapped", "teredo", "6to4", "nat64"]);
    const missing = SPECIAL_RANGES.filter(
      (range: SpecialRange) => !seen.has(range.name) && !silent.has(range.name),
    );
    expect(missing.map((range) => range.name)).toEqual([]);
  });

  it("the counters count: an allowed POST is one attempted and one accepted socket", async () => {
    const connect = vi.spyOn(Socket.prototype, "connect");
    const policy = compilePolicy({ allow: [{ cidr: "127.0.0.0/8", ports: [trap.port] }] });
    const resolver: EgressResolver = { resolve: async () => ["127.0.0.1"] };
    const client = createEgressClient({ policy, resolver, extraCa: [authority.ca] });
    const before = trap.accepted();
    const url = `https://hook.example.com:${trap.port}/`;
    expect((await client.post({ url, body: "{}" })).status).toBe(204);
    expect(connect).toHaveBeenCalledTimes(1);
    expect(trap.accepted() - before).toBe(1);
    await client.close();
  });

  describe("refused: no socket is attempted, none is accepted", () => {
    for (const [i, raw] of rows.entries()) {
      if (raw.allowed) continue;
      it(title(raw, i), async () => {
        const row = readRow(i);
        const connect = vi.spyOn(Socket.prototype, "connect");
        const before = trap.accepted();
        const { client, resolver } = clientFor(row);
        const error = await client.post({ url: row.url, body: "{}" }).catch((thrown: unknown) => thrown);
        await client.close();
        expect(error).toBeInstanceOf(EgressDenied);
        const { decision } = error as EgressDenied;
        const { allowed, arm, reason, range } = decision;
        expect({ allowed, arm, reason, range }).toEqual({
          allowed: false,
          arm: row.arm,
          reason: row.reason,
          range: row.range,
        });
        expect(resolver.asked).toBe(row.answers === undefined || isBeforeDns(row) ? 0 : 1);
        expect(connect).not.toHaveBeenCalled();
        expect(trap.accepted()).toBe(before);
        expect(JSON.stringify(decision)).not.toContain("latest");
      });
    }
  });

  describe("allowed: the guard passes what is public, and says by which range", () => {
    for (const [i, raw] of rows.entries()) {
      if (!raw.allowed) continue;
      it(title(raw, i), async () => {
        const row = readRow(i);
        const { client, resolver } = clientFor(row);
        const decision = await client.check(row.url);
        await client.close();
        expect(decision).toMatchObject({ allowed: true, arm: "address", reason: "allowed" });
        expect(decision.addresses?.[0]?.range).toBe(row.range);
        expect(resolver.asked).toBe(row.answers === undefined ? 0 : 1);
        expect(JSON.stringify(decision)).not.toContain("s3cr3t");
      });
    }
  });
});

function readRow(index: number): CorpusRow {
  const row = readCorpus(trap.port)[index];
  if (row === undefined) throw new RangeError(`no row ${index}`);
  return row;
}

function isBeforeDns(row: CorpusRow): boolean {
  return row.arm === "scheme" || row.arm === "url" || row.arm === "name";
}
