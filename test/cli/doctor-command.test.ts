/** `baton doctor` as a process: exit codes, both forms, and faults that are of the whole machine or process. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { examine } from "../../src/cli/doctor/examine.ts";
import { freePorts, Servers, startCluster, startSentinel } from "../cluster/servers.ts";
import { authority, complaints } from "./doctor-rig.ts";
import { portsOf, resultOf, runCli, startServe } from "./processes.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const servers = new Servers();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-doctor-"));
});
afterAll(async () => {
  await servers.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

interface Report {
  readonly ok: boolean;
  readonly faults: number;
  readonly warnings: number;
  readonly results: { check: string; outcome: "ok" | "warning" | "fault" | "skipped"; found: string }[];
}

/** Runs the command with free ports on a document; `program` runs Node otherwise. */
async function doctor(document: object, options: { env?: Record<string, string>; preload?: string } = {}) {
  const config = join(folder, "baton.yaml");
  const base = { listen: { port: 0 }, admin: { port: 0 }, dataDir: join(folder, "data") };
  await writeFile(config, JSON.stringify({ ...base, ...document }));
  const program = [
    ...(options.preload === undefined
      ? []
      : ["--import", `data:text/javascript,${encodeURIComponent(options.preload)}`]),
    MAIN,
  ];
  const { code, stdout, stderr } = await runCli(["doctor", "--config", config, "--output", "json"], {
    cwd: folder,
    env: options.env ?? {},
    program,
  });
  expect(stderr).toBe("");
  const report = JSON.parse(stdout) as Report;
  expect(code).toBe(report.faults > 0 ? 1 : 0);
  expect(report.ok).toBe(report.faults === 0);
  return { report, told: complaints(report.results.map((result) => ({ ...result }))) };
}

async function redisWith(...args: string[]) {
  const [port = 0] = await freePorts(1);
  return servers.start(port, ["--appendonly", "yes", ...args]);
}

describe("the command baton doctor", () => {
  it("ends with 0 and says so where all is well, and with 1 and what to do at a fault", async () => {
    const good = await runCli(["doctor"], {
      cwd: folder,
      env: { BATON_PORT: "0", BATON_ADMIN_PORT: "0", BATON_DATA_DIR: join(folder, "data") },
    });
    expect([good.code, good.stderr]).toEqual([0, ""]);
    expect(good.stdout).toMatch(/^ok {7}configuration {6}no file/);
    expect(good.stdout).toMatch(/\nEverything is as it should be\.\n$/);
    const bad = await runCli(["doctor"], {
      cwd: folder,
      env: { BATON_REDIS_URL: "redis://u:hidden-word@127.0.0.1:1", BATON_PORT: "0", BATON_ADMIN_PORT: "0" },
    });
    expect(bad.code).toBe(1);
    expect(bad.stdout).toMatch(/FAULT {4}redis {14}nothing listens at 127\.0\.0\.1:1\n +-> Start that Redis/);
    expect(bad.stdout).toMatch(/\n1 fault, 1 warning\.\n$/);
    expect(bad.stdout).not.toContain("hidden-word");
  });

  it("finds a clock that differs from that of Redis", async () => {
    const redis = await redisWith();
    const preload = "const now = Date.now; Date.now = () => now() + 90_000;";
    const document = { redis: { url: `redis://127.0.0.1:${redis.port}` }, push: { enabled: false } };
    expect((await doctor(document)).told).toEqual([]);
    expect((await doctor(document, { preload })).told).toEqual([
      expect.stringMatching(/^warning clock: the clock of 127\.0\.0\.1:\d+ is (89|90)\.\d s behind/),
    ]);
  });

  it("finds a Node that is too old, and one that is no long-term release", async () => {
    const as = (version: string) => ({
      preload: `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`,
    });
    expect((await doctor({}, as("22.3.0"))).told).toEqual([
      expect.stringMatching(/^fault node: Node is 22\.3\.0/),
    ]);
    expect((await doctor({}, as("25.1.0"))).told).toEqual([
      expect.stringMatching(/^warning node: .*25\.1\.0/),
    ]);
  });

  it("finds a low limit of open files", async () => {
    const script = `ulimit -n 512; exec "${process.execPath}" "${MAIN}" doctor --output json`;
    const env = { PATH: process.env.PATH ?? "", BATON_PORT: "0", BATON_ADMIN_PORT: "0" };
    const { code, stdout } = await resultOf(spawn("/bin/sh", ["-c", script], { cwd: folder, env }));
    expect(code).toBe(1);
    expect(complaints(JSON.parse(stdout).results)).toEqual([
      expect.stringMatching(/^fault open files: at most 512 files/),
    ]);
  });

  it("finds that there is no Redis server program to start", async () => {
    const { told } = await doctor({}, { env: { BATON_REDIS_SERVER: "/nonexistent/redis-server" } });
    expect(told).toEqual([expect.stringMatching(/^fault redis: BATON_REDIS_SERVER is \/nonexistent/)]);
  });

  it("finds that the certificate of a Redis is not trusted, and cleartext where it speaks TLS", async () => {
    const { cert, key } = authority.issue({ names: ["localhost"], addresses: ["127.0.0.1"] });
    const [certFile, keyFile, caFile] = ["r.pem", "r.key", "ca.pem"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key), writeFile(caFile, authority.ca)]);
    const [tlsPort = 0] = await freePorts(1);
    await redisWith(
      ...["--tls-port", String(tlsPort), "--tls-cert-file", certFile, "--tls-key-file", keyFile],
      ...["--tls-ca-cert-file", caFile, "--tls-auth-clients", "no"],
    );
    const push = { enabled: false };
    const url = `rediss://127.0.0.1:${tlsPort}`;
    expect((await doctor({ redis: { url }, push })).told).toEqual([
      expect.stringMatching(/^fault redis: the certificate of 127\.0\.0\.1:\d+ is not trusted/),
    ]);
    expect((await doctor({ redis: { url }, push }, { env: { NODE_EXTRA_CA_CERTS: caFile } })).told).toEqual(
      [],
    );
    const { told } = await doctor({ redis: { url: url.replace("rediss", "redis") }, push });
    expect(told).toEqual([expect.stringMatching(/^fault redis: .*(says nothing that Redis|in time)/)]);
  });

  it("finds replicas that waitReplicas cannot have, an unknown primary, and sentinels that are away", async () => {
    const { name, sentinels } = await startSentinel(servers);
    const document = (sentinel: object, waitReplicas: number) => ({
      redis: { sentinel: { name, nodes: sentinels, ...sentinel }, waitReplicas },
      push: { enabled: false },
    });
    expect((await doctor(document({}, 1))).told).toEqual([]);
    expect((await doctor(document({}, 2))).told).toEqual([
      expect.stringMatching(
        /^fault redis replicas: .*has 1 replicas in step, redis\.waitReplicas asks for 2/,
      ),
    ]);
    expect((await doctor(document({ name: "other" }, 0))).told).toEqual(
      sentinels.map(() => expect.stringMatching(/^fault redis: sentinel .*knows no primary called other/)),
    );
    const nodes = [{ host: "127.0.0.1", port: 1 }, ...sentinels];
    expect((await doctor(document({ nodes }, 1))).told).toEqual([
      expect.stringMatching(/^warning redis: nothing listens at sentinel 127\.0\.0\.1:1/),
    ]);
  }, 60_000);

  it("looks at every master of a cluster, and finds slots that nobody serves", async () => {
    const cluster = await startCluster(servers);
    const document = { redis: { cluster: { nodes: cluster.nodes } }, push: { enabled: false } };
    const [first, ...others] = cluster.masters.map(({ port }) => `127.0.0.1:${port}`);
    // The first alone has a replica.
    const { told, report } = await doctor(document);
    expect(told.toSorted()).toEqual(
      others.map((each) => `warning redis replicas: ${each} has no replica that could take over`).toSorted(),
    );
    expect(report.results.map(({ found }) => found)).toContain(`${first} answers`);
    await cluster.masters[2]?.ask("CLUSTER", "DELSLOTS", "16000");
    await cluster.masters[2]?.ask("CONFIG", "SET", "cluster-require-full-coverage", "yes");
    const nodes = [{ host: "127.0.0.1", port: cluster.masters[2]?.port }];
    expect((await doctor({ ...document, redis: { cluster: { nodes } } })).told).toContainEqual(
      expect.stringMatching(/^fault redis: the cluster says fail: \d+ of 16384 slots are served/),
    );
  }, 60_000);

  it("knows a Baton that runs by its answers, and looks into its Redis", async () => {
    const dataDir = join(folder, "running");
    // Not where the other cases leave their configurations.
    const gateway = await startServe(dataDir, { env: { BATON_CONFIG: "/dev/null" } });
    try {
      const { main, admin } = portsOf(gateway);
      const running = { listen: { port: Number(main) }, admin: { port: Number(admin) }, dataDir };
      const { report, told } = await doctor(running);
      expect(told).toEqual([]);
      const found = report.results.map(({ check, found: what }) => `${check}: ${what}`);
      expect(found).toContainEqual(expect.stringMatching(/^ports: .*a Baton answers on the admin port/));
      expect(found).toContainEqual(expect.stringMatching(/^redis: the embedded Redis answers/));
    } finally {
      await gateway.end("SIGTERM");
    }
  });
});

describe("examine", () => {
  it("gives each check its own time, and goes on where one fails or hangs", async () => {
    const results = await examine({
      environment: {},
      file: "/nonexistent/baton.yaml",
      checks: [
        { name: "hangs", about: "", needs: [], limitMs: 50, run: () => new Promise(() => {}) },
        {
          name: "fails",
          about: "",
          needs: [],
          run() {
            throw new Error("broken");
          },
        },
        { name: "needs", about: "", needs: ["redis"], run: () => [{ outcome: "ok", found: "never" }] },
        { name: "good", about: "", needs: [], run: () => [{ outcome: "ok", found: "fine" }] },
      ],
    });
    expect(results.map(({ check, outcome, found }) => `${outcome} ${check}: ${found}`)).toEqual([
      "fault hangs: there was no answer within 0.05 s",
      "fault fails: the check itself failed: broken",
      "skipped needs: redis has faults: see the configuration",
      "ok good: fine",
    ]);
  });
});
