/** Acceptance 6 of the installation work: `baton doctor` finds each planted fault, and nothing where nothing is wrong. */
import { setServers } from "node:dns";
import { existsSync, statfsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { diskFindings } from "../../src/cli/doctor/checks/data-folder.ts";
import { freePorts } from "../cluster/servers.ts";
import { startNameServer } from "../egress/name-server.ts";
import { startIssuer } from "../identity/issuer.ts";
import { plantedFaults } from "./doctor-faults.ts";
import { complaints, type Rig, startMute, startRewriter, startRig } from "./doctor-rig.ts";

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
}, 60_000);
afterAll(async () => {
  await rig?.[Symbol.asyncDispose]();
});

describe("baton doctor", () => {
  it("finds nothing wrong where nothing is, changes nothing, and has a word for every check", async () => {
    const results = await rig.examine(rig.document());
    expect(results.filter(({ outcome }) => outcome !== "ok")).toEqual([]);
    expect(new Set(results.map(({ check }) => check)).size).toBe(21);
    expect(await readdir(rig.folder)).not.toContain("data");
    expect(await rig.redis.ask("DBSIZE")).toBe(0);
  });

  it("does not look at the clients' port where another process serves them", async () => {
    const document = rig.document();
    document.roles = ["push", "sweeper"];
    document.listen.port = rig.redis.port;
    delete document.publicUrl;
    expect(complaints(await rig.examine(document))).toEqual([]);
  });

  it("finds nothing wrong with the defaults alone", async () => {
    const { PATH = "" } = rig.environment;
    const results = await rig.examine(
      { listen: { port: 0 }, admin: { port: 0 }, dataDir: join(rig.folder, "none") },
      { PATH },
    );
    expect(complaints(results)).toEqual([]);
  });

  it.each(plantedFaults(() => rig).map((each) => [each[0], each] as const))(
    "finds %s, and blames nothing else",
    async (_, [, plant, complaint, environment]) => {
      const document = rig.document();
      await plant(document);
      const results = await rig.examine(document, environment);
      expect(complaints(results)).toEqual([expect.stringMatching(complaint)]);
      const told = results.filter(({ outcome }) => outcome === "fault" || outcome === "warning");
      expect(told.every(({ advice = "" }) => advice !== "")).toBe(true);
    },
  );

  const SETTINGS: readonly (readonly [setting: string, value: string, complaint: RegExp, before: string])[] =
    [
      ["appendonly", "no", /fault redis persistence: .*keeps no append-only file, and no snapshots/, "yes"],
      ["appendfsync", "no", /fault redis persistence: .*appendfsync no/, "everysec"],
      ["maxmemory-policy", "allkeys-lru", /fault redis memory: .*maxmemory-policy allkeys-lru/, "noeviction"],
    ];
  it.each(SETTINGS)("finds %s %s in a running Redis", async (setting, value, complaint, before) => {
    await rig.redis.ask("CONFIG", "SET", setting, value);
    try {
      expect(complaints(await rig.examine(rig.document()))).toEqual([expect.stringMatching(complaint)]);
    } finally {
      await rig.redis.ask("CONFIG", "SET", setting, before);
    }
  });

  it("finds snapshots in place of an append-only file, and takes accepted loss as a warning", async () => {
    const [port = 0] = await freePorts(1);
    const server = await rig.servers.start(port, ["--appendonly", "no"]);
    await server.ask("CONFIG", "SET", "save", "3600 1");
    const document = rig.document();
    document.redis.url = `redis://127.0.0.1:${port}`;
    const only = /redis persistence: .*only snapshots \(save 3600 1\)/;
    expect(complaints(await rig.examine(document))).toEqual([expect.stringMatching(only)]);
    document.redis.persistence = "accept-loss";
    expect(complaints(await rig.examine(document))).toEqual([
      expect.stringMatching(/^warning redis persistence/),
    ]);
  });

  it("finds a memory that is nearly used up", async () => {
    const used = /used_memory:(\d+)/.exec(String(await rig.redis.ask("INFO", "memory")))?.[1];
    await rig.redis.ask("CONFIG", "SET", "maxmemory", String(Math.round(Number(used) * 1.08)));
    try {
      expect(complaints(await rig.examine(rig.document()))).toEqual([
        expect.stringMatching(/redis memory: .*uses (8|9)\d % of maxmemory/),
      ]);
    } finally {
      await rig.redis.ask("CONFIG", "SET", "maxmemory", "200mb");
    }
  });

  it("finds a missing password, a wrong one, and a user who may not run scripts; and names no password", async () => {
    const [port = 0] = await freePorts(1);
    const server = await rig.servers.start(port, ["--appendonly", "yes"]);
    await server.ask("ACL", "SETUSER", "poor", "on", ">the-poor-one", "~*", "+@all", "-eval");
    const document = rig.document();
    const told = async (credentials: string) => {
      document.redis.url = `redis://${credentials}127.0.0.1:${port}`;
      const results = await rig.examine(document);
      expect(JSON.stringify(results)).not.toMatch(/the-poor-one|the-wrong-one/);
      return complaints(results);
    };
    expect(await told("poor:the-poor-one@")).toEqual([
      expect.stringMatching(/fault redis: the user of .*eval/),
    ]);
    expect(await told("poor:the-wrong-one@")).toEqual([
      expect.stringMatching(/fault redis: .*credentials: WRONGPASS/),
    ]);
    await server.ask("ACL", "SETUSER", "default", "off");
    expect(await told("")).toEqual([expect.stringMatching(/fault redis: .*credentials: NOAUTH/)]);
  });

  it("finds a Redis that is too old, a replica, and what is no Redis", async () => {
    await using old = await startRewriter(rig.redis.port, "redis_version:7.0.15", "redis_version:6.2.14");
    await using mute = await startMute();
    const [port = 0] = await freePorts(1);
    await rig.servers.start(port, [
      "--appendonly",
      "yes",
      "--replicaof",
      "127.0.0.1",
      String(rig.redis.port),
    ]);
    const document = rig.document();
    const told = async (at: number) => {
      document.redis.url = `redis://127.0.0.1:${at}`;
      return complaints(await rig.examine(document));
    };
    const version = /redis_version:(\S+)/.exec(String(await rig.redis.ask("INFO", "server")))?.[1];
    // The one server at hand made to look older than it is.
    if (version === "7.0.15") {
      expect(await told(old.port)).toEqual([
        expect.stringMatching(/fault redis version: .*is Redis 6\.2\.14/),
      ]);
    }
    expect(await told(port)).toEqual([expect.stringMatching(/fault redis: .*is a replica/)]);
    expect(await told(mute.port)).toEqual([expect.stringMatching(/fault redis: .*says nothing that Redis/)]);
  });

  it("finds a data folder in memory, on a network or a full disk, where the embedded Redis would keep its tasks", async () => {
    const said = (type: number, free: number) =>
      diskFindings("dataDir: /d", type, free).map(({ outcome, found }) => `${outcome} ${found}`);
    const ext4 = 0xef53;
    expect(said(ext4, 50 * 1024 ** 3)).toEqual([]);
    expect(said(ext4, 10 * 1024 ** 2)).toEqual(["fault dataDir: /d has 10 MiB free"]);
    expect(said(ext4, 500 * 1024 ** 2)).toEqual(["warning dataDir: /d has 500 MiB free"]);
    expect(said(0x6969, 50 * 1024 ** 3)).toEqual([expect.stringMatching(/^warning .*NFS/)]);
    expect(said(0x794c7630, 50 * 1024 ** 3)).toEqual([
      expect.stringMatching(/^warning .*container's own layer/),
    ]);
    if (!existsSync("/dev/shm") || statfsSync("/dev/shm").type !== 0x01021994) return;
    const document = rig.document();
    document.redis = {};
    document.dataDir = "/dev/shm/baton";
    expect(complaints(await rig.examine(document))).toContainEqual(
      expect.stringMatching(/^fault data folder: .*lies in memory \(tmpfs\)/),
    );
  });

  it("finds name servers that are silent", async () => {
    await using silent = await startNameServer({ "baton.invalid": { fault: "silent" } });
    setServers([silent.address]);
    try {
      expect(complaints(await rig.examine(rig.document()))).toEqual([
        expect.stringMatching(/fault dns: no name server answers: .*ETIMEOUT.*identity\.issuers needs names/),
      ]);
    } finally {
      setServers([rig.nameServer]);
    }
  });

  it("finds an issuer without keys, and one that answers with errors", async () => {
    await using bad = await startIssuer();
    bad.removeKey("first");
    const document = rig.document();
    document.identity = {
      issuers: [{ issuer: bad.issuer, audiences: ["x"] }],
      allow: [{ cidr: "127.0.0.1/32", ports: [bad.port] }],
      caFiles: [await rig.file("bad-ca.pem", bad.ca)],
    };
    const told = async () => complaints(await rig.examine(document));
    expect(await told()).toEqual([expect.stringMatching(/fault issuers: .*publishes no keys/)]);
    bad.failWith = 503;
    expect(await told()).toEqual([expect.stringMatching(/fault issuers: .*answered 503/)]);
  });

  it("finds many at once: every problem of the file, and in the sections that are good whatever else is wrong", async () => {
    const document = rig.document();
    document.listen.port = "many";
    document.retries = { maxAttempts: 0 };
    document.agents.v1 = {};
    document.redis.url = "redis://127.0.0.1:1";
    document.push.allow = [{ cidr: "0.0.0.0/0" }, { cidr: "nonsense" }];
    delete document.cards.signing[0].file;
    const results = await rig.examine(document, { BATON_REDDIS_URL: "x" });
    const told = complaints(results).join("\n");
    for (const part of [
      "listen.port",
      "retries.maxAttempts",
      "cards.signing.0",
      "BATON_REDDIS_URL is no variable",
      "nothing listens at 127.0.0.1:1",
    ]) {
      expect(told).toContain(part);
    }
    const skipped = results.filter(({ outcome }) => outcome === "skipped").map(({ check }) => check);
    expect(skipped).toEqual(
      expect.arrayContaining(["tls", "ports", "card keys", "redis version", "egress policy"]),
    );
  });

  it("tells what stands where the file is no YAML, without quoting it", async () => {
    const results = await rig.examine("admin: { token: the-secret-token\nx: [");
    expect(complaints(results)).toEqual([
      expect.stringMatching(/fault configuration: .*not YAML: .*line \d/),
    ]);
    expect(JSON.stringify(results)).not.toContain("the-secret-token");
  });
});
