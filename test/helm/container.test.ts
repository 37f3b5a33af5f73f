import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "../../src/config/load.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const read = (name: string) => readFileSync(path(name), "utf8");
const lastStage = () =>
  read("Dockerfile")
    .split(/^FROM /m)
    .at(-1) ?? "";

/** Seconds that `serve` takes in the image for its end. */
function grace(): number {
  const [, seconds] = /^CMD \["serve", "--json", "--grace", "(\d+)s"\]$/m.exec(lastStage()) ?? [];
  return Number(seconds);
}

describe("the image", () => {
  it("H13 runs node in exec form, so that it is the process that gets SIGTERM", () => {
    expect(lastStage()).toMatch(/^ENTRYPOINT \["node", "\/app\/dist\/src\/cli\/baton\.js"\]$/m);
    expect(grace()).toBeGreaterThan(0);
  });

  it("runs as a user that is not root, by number, so that Kubernetes can see it", () => {
    expect(lastStage()).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
  });

  it("copies only what the context holds", () => {
    const context = new Set(
      read(".dockerignore")
        .match(/^!.+$/gm)
        ?.map((line) => line.slice(1)),
    );
    for (const name of context) expect(existsSync(path(name)), name).toBe(true);
    for (const [, sources = ""] of read("Dockerfile").matchAll(/^COPY (?!--from)(.+) \S+$/gm)) {
      for (const source of sources.split(" ").filter((name) => name !== ".")) {
        expect(context.has(source.split("/")[0] ?? ""), source).toBe(true);
      }
    }
  });

  it("its configuration needs a Redis from outside, and says so", () => {
    const config = loadConfig(path("container/baton.yaml"), { BATON_REDIS_URL: "redis://redis:6379" });
    expect(config.listen.host).toBe("0.0.0.0");
    expect(() => loadConfig(path("container/baton.yaml"), {})).toThrow(/BATON_REDIS_URL/);
  });
});

describe("the health check of the image", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway?.stop());

  const check = async (port: string) => {
    const child = spawn(process.execPath, [path("container/healthcheck.mjs")], {
      env: { BATON_ADMIN_PORT: port },
      stdio: "ignore",
    });
    const [code] = await once(child, "exit");
    return code;
  };

  it("passes while the gateway answers, and fails where it does not", async () => {
    const { port } = new URL(gateway.adminUrl);
    expect(await check(port)).toBe(0);
    await gateway.stop();
    expect(await check(port)).toBe(1);
  });
});

describe("compose.yaml", () => {
  const { services } = parse(read("compose.yaml"));

  it("waits for longer than the drain takes before it kills", () => {
    expect(Number.parseInt(services.baton.stop_grace_period, 10)).toBeGreaterThanOrEqual(grace() + 5);
  });

  it("gives Redis an append-only file on a volume, and lets it drop nothing", () => {
    const command = services.redis.command.join(" ");
    expect(command).toContain("--appendonly yes");
    expect(command).toContain("--maxmemory-policy noeviction");
    expect(services.redis.volumes).toContain("redis-data:/data");
  });

  it("shows no port to the network, and runs read-only without capabilities", () => {
    for (const port of services.baton.ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    for (const service of [services.baton, services.redis]) {
      expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"] });
    }
  });
});
