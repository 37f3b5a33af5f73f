/**
 * The image is really built, by podman and by buildah, and run: read-only, as nobody, with every binding; then as the
 * chart renders it, with its Redis, by `podman play kube`, and as compose.yaml says. `npm run proof:container`; needs root,
 * podman and debootstrap, and says loudly what is missing. About five minutes.
 */
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { DRIVERS } from "../conformance/drivers.ts";
import { createVendor } from "../gateway.ts";
import { helm, type Manifest, template } from "../helm/helm.ts";
import { Peer, TestWorker, workerTransport } from "../scenarios/actors.ts";
import { gatewayObjects, redisObjects, secretFile } from "./container/kube.ts";
import { hasProgram, missing, Podman, REDIS_IMAGE } from "./container/podman.ts";

const IMAGE = "localhost/baton:proof";
const ADMIN_TOKEN = "admin-token-for-tests-only";
const SECRET_KEY = Buffer.alloc(32, 1).toString("base64");
const absent = missing();
if (absent !== undefined) console.warn(`\n*** SKIPPED: no image is built or run here: needs ${absent} ***\n`);

let podman: Podman;

beforeAll(async () => {
  if (absent !== undefined) return;
  podman = await Podman.open();
  await podman.makeBaseImages();
  await podman.do("build", ...podman.buildArgs, "--tag", IMAGE, ".");
}, 1_200_000);
afterAll(() => podman?.close(), 120_000);

/** Waits until `/readyz` says that all is well; fails with what it says instead. */
async function ready(adminUrl: string): Promise<void> {
  await expect
    .poll(() => fetch(`${adminUrl}/readyz`).then((response) => response.text(), String), { timeout: 60_000 })
    .toBe('{"status":"ok"}');
}

/** A task over each binding: sent, done by a worker, read. */
async function smoke(url: string, adminUrl: string): Promise<void> {
  const vendor = createVendor(adminUrl, ADMIN_TOKEN);
  const token = await vendor.vend();
  const worker = new TestWorker(workerTransport(url, await vendor.vendWorker()));
  for (const kind of DRIVERS) {
    const driver = await kind.connect({ url, authority: new URL(url).host });
    const peer = new Peer(driver, { token });
    const { id } = await peer.start(`smoke by ${kind.name}`);
    const watch = await peer.subscribe(id);
    await worker.do(id, [{ artifactId: "out", parts: [{ text: kind.name }] }]);
    await watch.all();
    const task = await peer.get(id);
    expect(task.status?.state, kind.name).toBe(TaskState.COMPLETED);
    expect(task.artifacts, kind.name).toHaveLength(1);
    await driver.close();
  }
  for (const page of ["/metrics", "/console"]) {
    expect((await fetch(`${adminUrl}${page}`)).status, page).toBe(200);
  }
}

/** Where a pod is on its network; the machine reaches it there. */
async function addressOf(container: string): Promise<string> {
  const pod = (await podman.do("inspect", container, "--format", "{{.Pod}}")).stdout.trim();
  const infra = (await podman.do("pod", "inspect", pod, "--format", "{{.InfraContainerID}}")).stdout.trim();
  const networks = (await podman.do("inspect", infra, "--format", "{{json .NetworkSettings.Networks}}"))
    .stdout;
  const [network] = Object.values(JSON.parse(networks) as Record<string, { IPAddress: string }>);
  if (network === undefined) throw new Error(`${container} is on no network`);
  return network.IPAddress;
}

/** SIGTERM; it has to end by itself, in good order. */
async function endsWell(container: string): Promise<void> {
  const begun = performance.now();
  await podman.do("stop", "--time", "40", container);
  expect(performance.now() - begun).toBeLessThan(30_000);
  const state = await podman.do("inspect", container, "--format", "{{.State.ExitCode}}");
  expect(state.stdout.trim()).toBe("0");
  const { stdout, stderr } = await podman.do("logs", container);
  expect(stdout + stderr).toContain("Baton has stopped");
}

describe.skipIf(absent !== undefined)("the image", () => {
  it("is built by buildah from the same Dockerfile", async () => {
    if (!hasProgram("buildah")) {
      console.warn("\n*** SKIPPED: no buildah here ***\n");
      return;
    }
    // The steps are those of podman's build, which buildah finds made; that it reads them all alike is what is tried.
    await podman.tool("buildah", "build", "--layers", ...podman.buildArgs, "--tag", `${IMAGE}-buildah`, ".");
  }, 900_000);

  it("names what it is made of, holds no build tools, and is checked for health", async () => {
    const inside = (...command: string[]) => {
      const [program = "", ...args] = command;
      return podman.do("run", "--rm", "--entrypoint", program, IMAGE, ...args);
    };
    const bill = JSON.parse((await inside("cat", "/app/sbom.cdx.json")).stdout);
    expect(bill).toMatchObject({ bomFormat: "CycloneDX" });
    const names = bill.components.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["bullmq", "redis"]));
    expect(names).not.toContain("vitest");
    const modules = (await inside("ls", "/app/node_modules")).stdout;
    expect(modules).not.toMatch(/vitest|typescript|biome/);
    const [image] = JSON.parse((await podman.do("image", "inspect", IMAGE)).stdout);
    expect(image.Healthcheck.Test).toEqual(["CMD", "node", "/app/healthcheck.mjs"]);
  });

  it("H13 runs read-only, as nobody, without capabilities, serves every binding and ends on SIGTERM", async () => {
    const ports = ["--publish", "127.0.0.1::7420", "--publish", "127.0.0.1::7421"];
    await podman.do("pod", "create", "--name", "plain", ...ports);
    const redis = ["valkey-server", "--appendonly", "yes"];
    await podman.do("run", "--detach", "--pod", "plain", "--name", "redis", REDIS_IMAGE, ...redis);
    const variables = [
      "BATON_REDIS_URL=redis://127.0.0.1:6379",
      `BATON_ADMIN_TOKEN=${ADMIN_TOKEN}`,
      `BATON_SECRET_KEY=${SECRET_KEY}`,
    ].flatMap((variable) => ["--env", variable]);
    const config =
      "listen: {host: 0.0.0.0}\nadmin: {host: 0.0.0.0}\nredis: {embedded: false}\ndataDir: /var/lib/baton\n";
    const file = join(podman.folder, "baton.yaml");
    await writeFile(file, config + stringify({ limits: OPEN }));
    const sealed = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"];
    const mount = ["--volume", `${file}:/etc/baton/baton.yaml:ro`];
    await podman.do(
      "run",
      "--detach",
      "--pod",
      "plain",
      "--name",
      "baton",
      ...sealed,
      ...mount,
      ...variables,
      IMAGE,
    );
    const { stdout: pod } = await podman.do("pod", "inspect", "plain", "--format", "{{.InfraContainerID}}");
    const [url, adminUrl] = await Promise.all(
      [7420, 7421].map(async (port) => `http://127.0.0.1:${await podman.port(pod.trim(), port)}`),
    );
    if (url === undefined || adminUrl === undefined) throw new Error("no ports");
    await ready(adminUrl);
    const { stdout: user } = await podman.do("exec", "baton", "id", "-u");
    expect(user.trim()).toBe("65532");
    await expect(podman.do("exec", "baton", "touch", "/app/x")).rejects.toThrow(/Read-only file system/);
    await podman.do("healthcheck", "run", "baton");
    await smoke(url, adminUrl);
    await endsWell("baton");
  }, 180_000);
});

const bucket = { perSecond: 100_000, burst: 100_000 };
const OPEN = { perAddress: bucket, perEndpoint: bucket, send: bucket };

describe.skipIf(absent !== undefined || helm === undefined)("the chart by podman play kube", () => {
  it("runs the rendered Deployment with its Redis, serves every binding and ends on SIGTERM", async () => {
    const [repository, tag] = IMAGE.split(":");
    const [redisRepository, redisTag] = REDIS_IMAGE.split(":");
    const objects: Manifest[] = await template({
      admin: { existingSecret: "baton" },
      push: { existingSecret: "baton" },
      image: { repository, tag, pullPolicy: "Never" },
      redis: {
        bundled: {
          enabled: true,
          image: { repository: redisRepository, tag: redisTag, pullPolicy: "Never" },
        },
      },
      config: { limits: OPEN },
    });
    const file = async (name: string, text: string) => {
      const path = join(podman.folder, name);
      await writeFile(path, text);
      return path;
    };
    const secret = secretFile({ "admin-token": ADMIN_TOKEN, "secret-key": SECRET_KEY });
    await podman.do("secret", "create", "baton", await file("secret.json", secret));
    await podman.do("play", "kube", await file("redis.yaml", redisObjects(objects)));
    const redisIp = await addressOf("release-baton-redis-pod-0-redis");
    await podman.do("play", "kube", await file("gateway.yaml", gatewayObjects(objects, redisIp)));
    const container = "release-baton-pod-0-baton";
    const ip = await addressOf(container);
    const adminUrl = `http://${ip}:7421`;
    await ready(adminUrl);
    const sealed = "{{.HostConfig.ReadonlyRootfs}} {{.Config.User}} {{.EffectiveCaps}}";
    const { stdout } = await podman.do("inspect", container, "--format", sealed);
    expect(stdout.trim()).toBe("true 65532:65532 []");
    await smoke(`http://${ip}:7420`, adminUrl);
    await endsWell(container);
  }, 180_000);
});

describe.skipIf(absent !== undefined)("compose.yaml", () => {
  it("starts the gateway with its Redis, which is ready and serves", async () => {
    if (!hasProgram("podman-compose")) {
      console.warn("\n*** SKIPPED: compose.yaml is not started: no podman-compose here ***\n");
      return;
    }
    // As it stands, but for the ports of the machine, and for the image, which has been built.
    const compose = parse(await readFile(join(import.meta.dirname, "../../compose.yaml"), "utf8"));
    const { baton } = compose.services;
    delete baton.build;
    baton.image = IMAGE;
    // Old versions of podman-compose leave an empty default, ${NAME:-}, as it is.
    baton.environment.BATON_SECRET_KEY = SECRET_KEY;
    baton.ports = baton.ports.map((port: string) => port.replace(/^([\d.]+):\d+:/, "$1::"));
    const file = join(podman.folder, "compose.yaml");
    // In the YAML that Compose programs in Python read: there a bare yes is true, and no argument of Redis.
    const write = () => writeFile(file, stringify(compose, { version: "1.1" }));
    await write();
    const wrapper = join(podman.folder, "podman");
    await writeFile(wrapper, `#!/bin/sh\nexec podman ${podman.args.join(" ")} "$@"\n`);
    await chmod(wrapper, 0o755);
    const environment = { BATON_ADMIN_TOKEN: ADMIN_TOKEN, BATON_SECRET_KEY: SECRET_KEY };
    await podman.compose(wrapper, file, environment, "redis");
    // Names of containers need a plugin of podman that not every machine has.
    const networks = await podman.do(
      "inspect",
      "baton_redis_1",
      "--format",
      "{{json .NetworkSettings.Networks}}",
    );
    const [network] = Object.values(JSON.parse(networks.stdout) as Record<string, { IPAddress: string }>);
    baton.extra_hosts = [`redis:${network?.IPAddress}`];
    await write();
    await podman.compose(wrapper, file, environment, "baton");
    const port = async (inner: number) => `http://127.0.0.1:${await podman.port("baton_baton_1", inner)}`;
    const [url, adminUrl] = [await port(7420), await port(7421)];
    await ready(adminUrl);
    const token = await createVendor(adminUrl, ADMIN_TOKEN).vend();
    const [kind] = DRIVERS;
    if (kind === undefined) throw new Error("no drivers");
    const peer = new Peer(await kind.connect({ url, authority: new URL(url).host }), { token });
    const { id } = await peer.start();
    const { stdout } = await podman.do("exec", "baton_redis_1", "valkey-cli", "info", "persistence");
    expect(stdout).toContain("aof_enabled:1");
    expect((await peer.get(id)).id).toBe(id);
    await endsWell("baton_baton_1");
  }, 180_000);
});
