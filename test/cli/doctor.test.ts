/** Acceptance 6 of the installation work: `baton doctor` finds each planted fault, and nothing where nothing is wrong. */
import { setServers } from "node:dns";
import { chmod, mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePorts } from "../cluster/servers.ts";
import { startNameServer } from "../egress/name-server.ts";
import { startIssuer } from "../identity/issuer.ts";
import {
  authority,
  complaints,
  type Document,
  type Rig,
  startMute,
  startRewriter,
  startRig,
} from "./doctor-rig.ts";

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
}, 60_000);
afterAll(async () => {
  await rig?.[Symbol.asyncDispose]();
});

type Plant = (document: Document) => unknown;
type Case = readonly [fault: string, plant: Plant, complaint: RegExp, environment?: Record<string, string>];

const DAY = 86_400_000;

async function certificate(document: Document, subject: Parameters<typeof authority.issue>[0]) {
  const { cert, key } = authority.issue(subject);
  document.listen.tls = {
    certFile: await rig.file("bad.pem", cert),
    keyFile: await rig.file("bad.key", key),
  };
}

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

  const CASES: readonly Case[] = [
    ["a key out of range", (d) => (d.listen.port = 99_999), /fault configuration: .*listen\.port: Too big/],
    ["a misspelt key", (d) => (d.lissten = {}), /fault configuration: .*"lissten"/],
    [
      "a misspelt variable",
      () => {},
      /warning environment: BATON_ADMIN_TOKN is no variable/,
      { BATON_ADMIN_TOKN: "x" },
    ],
    [
      "a variable of a Kubernetes service link",
      () => {},
      /warning environment: BATON_PORT_7420_TCP .*service called baton/,
      { BATON_PORT_7420_TCP: "tcp://10.0.0.1:7420", BATON_SERVICE_HOST: "10.0.0.1" },
    ],
    [
      "a variable and its file",
      () => {},
      /warning environment: BATON_SECRET_KEY and BATON_SECRET_KEY_FILE/,
      { BATON_SECRET_KEY_FILE: "/dev/null" },
    ],
    [
      "a data folder where no folder can be",
      (d) => {
        d.dataDir = "/proc/baton";
        d.admin = { ...d.admin, host: "127.0.0.1", token: undefined };
      },
      /fault data folder: dataDir: \/proc\/baton lies in proc/,
    ],
    [
      "a data folder below a file",
      async (d) => {
        d.dataDir = join(await rig.file("plain", ""), "data");
        d.admin = { ...d.admin, host: "127.0.0.1", token: undefined };
      },
      /fault data folder: .*plain is no folder/,
    ],
    [
      "an admin credential that others can read",
      async (d) => {
        d.admin = { ...d.admin, host: "127.0.0.1", token: undefined };
        d.dataDir = join(rig.folder, "open");
        await mkdir(d.dataDir, { recursive: true });
        await symlink(await rig.file("open.token", "x"), join(d.dataDir, "admin.token")).catch(() => {});
        await chmod(join(rig.folder, "open.token"), 0o644);
      },
      /warning data folder: .*admin\.token can be read by other users/,
    ],
    [
      "a Redis that is not there",
      (d) => (d.redis.url = "redis://127.0.0.1:1"),
      /fault redis: nothing listens/,
    ],
    [
      "a Redis whose name nobody knows",
      (d) => (d.redis.url = "redis://redis.invalid:6379"),
      /fault redis: the name of redis\.invalid:6379 cannot be resolved/,
    ],
    [
      "TLS towards a Redis without",
      (d) => (d.redis.url = d.redis.url.replace("redis:", "rediss:")),
      /fault redis: .* (does not speak TLS|does not answer in time|says nothing that Redis)/,
    ],
    [
      "a password where none is set",
      (d) => (d.redis.url = d.redis.url.replace("//", "//:geheim@")),
      /fault redis: .*credentials/,
    ],
    [
      "replicas of a single server",
      (d) => (d.redis.waitReplicas = 1),
      /warning redis replicas: redis\.waitReplicas is 1/,
    ],
    [
      "a Redis cluster that is none",
      (d) => (d.redis = { cluster: { nodes: [{ host: "127.0.0.1", port: rig.redis.port }] } }),
      /fault redis: .*is no node of a cluster/,
    ],
    [
      "a certificate that is missing",
      (d) => (d.listen.tls.certFile = "/nonexistent/cert.pem"),
      /fault tls: listen\.tls\.certFile: \/nonexistent\/cert\.pem cannot be read \(ENOENT\)/,
    ],
    [
      "a key of another certificate",
      async (d) =>
        (d.listen.tls.keyFile = await rig.file("other.key", authority.issue({ names: ["x"] }).key)),
      /fault tls: listen\.tls\.keyFile: .*other\.key is not the key of the first certificate/,
    ],
    [
      "an expired certificate",
      (d) => certificate(d, { names: ["localhost"], expired: true }),
      /fault tls: .*bad\.pem expired at/,
    ],
    [
      "a certificate of the future",
      (d) => certificate(d, { names: ["localhost"], valid: [DAY, 90 * DAY] }),
      /fault tls: .*bad\.pem is not valid before/,
    ],
    [
      "a certificate that expires soon",
      (d) => certificate(d, { names: ["localhost"], valid: [-DAY, 5.5 * DAY] }),
      /warning tls: .*bad\.pem expires in 5 days/,
    ],
    [
      "a certificate for another host",
      (d) => certificate(d, { names: ["other.example"] }),
      /fault tls: .*is not for localhost, the host of publicUrl; it is for DNS:other\.example/,
    ],
    [
      "a key that everybody can read",
      async (d) => {
        await certificate(d, { names: ["localhost"] });
        await chmod(d.listen.tls.keyFile, 0o644);
      },
      /warning tls: .*bad\.key can be read by everybody/,
    ],
    [
      "a port that is taken",
      (d) => (d.listen.port = rig.redis.port),
      /fault ports: listen\.port: .*in use by another program/,
    ],
    [
      "one port for both",
      (d) => (d.admin.port = d.listen.port),
      /fault ports: listen\.port and admin\.port are both/,
    ],
    [
      "an address of another machine",
      (d) => (d.listen.host = "203.0.113.9"),
      /fault ports: listen\.host: .*EADDRNOTAVAIL/,
    ],
    [
      "cleartext in publicUrl, TLS on the port",
      (d) => (d.publicUrl = d.publicUrl.replace("https", "http")),
      /fault public address: publicUrl is http:.*speaks TLS/,
    ],
    ["no publicUrl", (d) => delete d.publicUrl, /warning public address: publicUrl is not given/],
    [
      "a wide block in the egress guard",
      (d) => (d.push.allow = [{ cidr: "172.16.0.0/12" }]),
      /warning egress policy: push\.allow\.0: 172\.16\.0\.0\/12 is wide/,
    ],
    [
      "the egress guard switched off",
      (d) => (d.push.allow = [{ cidr: "0.0.0.0/0" }]),
      /fault egress policy: push\.allow\.0: .*would switch the egress guard off/,
    ],
    [
      "metadata in the egress guard",
      (d) => (d.push.allow = [{ cidr: "169.254.169.0/24" }]),
      /warning egress policy: .*holds the metadata address 169\.254\.169\.254/,
    ],
    [
      "cleartext in the egress guard",
      (d) => (d.push.allow[0].plaintext = true),
      /warning egress policy: .*allows http/,
    ],
    [
      "Baton itself in the egress guard",
      (d) => (d.push.allow = [{ cidr: "127.0.0.1/32", ports: [d.admin.port] }]),
      /warning egress policy: .*holds this machine with admin\.port/,
    ],
    [
      "an authority that is missing",
      (d) => (d.push.caFiles = ["/nonexistent/ca.pem"]),
      /fault egress policy: push\.caFiles\.0: \/nonexistent\/ca\.pem cannot be read/,
    ],
    [
      "a sealing key that is too short",
      () => {},
      /fault push key: push\.secretKey .*is not 32 bytes/,
      { BATON_SECRET_KEY: "c2hvcnQ=" },
    ],
    [
      "no sealing key",
      () => {},
      /warning push key: .*is missing.*push notifications are off/,
      { BATON_SECRET_KEY: "" },
    ],
    [
      "no sealing key, and push demanded",
      (d) => (d.push.enabled = true),
      /fault push key: .*is missing/,
      { BATON_SECRET_KEY: "" },
    ],
    [
      "an issuer that the guard refuses",
      (d) => (d.identity.allow = []),
      /fault issuers: the keys of https:\/\/127\.0\.0\.1:\d+ cannot be had/,
    ],
    [
      "a card key that is missing",
      (d) => (d.cards.signing[0].file = "/nonexistent/card.pem"),
      /fault card keys: cards\.signing: card key first: \/nonexistent\/card\.pem cannot be read/,
    ],
    [
      "a weak admin credential",
      (d) => (d.admin.token = "password-password-password"),
      /fault admin credential: admin\.token .*can be guessed.*0\.0\.0\.0/,
    ],
    [
      "no admin credential, and everybody can ask",
      (d) => delete d.admin.token,
      /warning admin credential: admin\.token is not given.*0\.0\.0\.0/,
    ],
    [
      "an OpenWOP host that is not there",
      (d) => (d.agents.runs.backend.url = "http://127.0.0.1:1"),
      /fault openwop hosts: agents\.runs\.backend\.url: .*cannot be reached \(ECONNREFUSED\)/,
    ],
    [
      "what is no OpenWOP host",
      (d) => {
        d.agents.runs.backend.url = rig.issuer.issuer.replace("https", "http");
      },
      /fault openwop hosts: agents\.runs\.backend\.url/,
    ],
    [
      "no credential for the OpenWOP host",
      (d) => (d.agents.runs.backend.credential.env = "NOT_SET"),
      /fault openwop hosts: agents\.runs\.backend: NOT_SET is not set/,
    ],
  ];

  it.each(CASES.map((each) => [each[0], each] as const))(
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
