/** What probes are told from the first moment of a gateway to its last, about its Redis above all. */
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import { type EmbeddedRedis, startEmbeddedRedis } from "../../src/redis/embedded.ts";
import { type Gateway, startGateway } from "../../src/server/gateway.ts";
import { nameOfRedis } from "../../src/server/readiness.ts";

const undo: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "baton-probes-"));
  undo.push(() => rm(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

/** A loopback address that refuses connections until a Redis is put behind it. */
class Doorway {
  readonly port: number;
  #target: string | undefined;
  readonly #cut = new Set<() => void>();

  private constructor(port: number) {
    this.port = port;
  }

  static async open(): Promise<Doorway> {
    const server = createServer((socket) => {
      const path = doorway.#target;
      if (path === undefined) {
        socket.resetAndDestroy();
        return;
      }
      const inner = connect(path);
      const cut = () => {
        socket.destroy();
        inner.destroy();
        doorway.#cut.delete(cut);
      };
      doorway.#cut.add(cut);
      for (const end of [socket, inner]) end.on("error", cut).on("close", cut);
      socket.pipe(inner).pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const doorway = new Doorway(address.port);
    undo.push(async () => {
      doorway.leadTo(undefined);
      server.close();
    });
    return doorway;
  }

  /** To the socket of a server; undefined cuts what is there and lets nobody in. */
  leadTo(redis: EmbeddedRedis | undefined): void {
    this.#target = redis?.socketPath;
    if (redis === undefined) for (const cut of [...this.#cut]) cut();
  }
}

async function redis(): Promise<EmbeddedRedis> {
  const server = await startEmbeddedRedis({ dir: await folder() });
  undo.push(() => server.stop());
  return server;
}

interface Answer {
  readonly status: number;
  readonly reasons: readonly string[];
}

async function ask(url: string): Promise<Answer> {
  const response = await fetch(url);
  const { reasons = [] } = (await response.json()) as { reasons?: string[] };
  return { status: response.status, reasons };
}

/** A gateway whose Redis is behind the doorway; answers as soon as the admin port does. */
async function begin(doorway: Doorway, extra: object = {}) {
  const config = parseConfig({
    listen: { port: 0 },
    admin: { port: 0 },
    dataDir: await folder(),
    redis: { url: `redis://:secret-p@ss@127.0.0.1:${doorway.port}` },
    ...extra,
  });
  const admin = Promise.withResolvers<string>();
  const started = startGateway(config, { onAdmin: admin.resolve });
  undo.push(async () => (await started).stop(500));
  return { adminUrl: await admin.promise, started: started as Promise<Gateway> };
}

it("while Redis is waited for at the start /livez is 200, and /readyz 503 with a reason that names Redis", async () => {
  const doorway = await Doorway.open();
  const { adminUrl, started } = await begin(doorway, {
    redis: { url: `redis://127.0.0.1:${doorway.port}` },
  });
  expect((await fetch(`${adminUrl}/livez`)).status).toBe(200);
  await expect
    .poll(() => ask(`${adminUrl}/readyz`))
    .toEqual({
      status: 503,
      reasons: [`starting: waiting for Redis at 127.0.0.1:${doorway.port} (ECONNRESET)`],
    });
  let done = false;
  void started.then(() => {
    done = true;
  });
  await sleep(300);
  expect(done).toBe(false);
  // Nothing is served to operators yet, and nobody is let in.
  expect(
    (await fetch(`${adminUrl}/baton.admin.v1.EndpointService/ListEndpoints`, { method: "POST" })).status,
  ).toBe(404);

  doorway.leadTo(await redis());
  const gateway = await started;
  expect(gateway.adminUrl).toBe(adminUrl);
  expect(await ask(`${adminUrl}/readyz`)).toEqual({ status: 200, reasons: [] });
});

it("Redis that goes away later is named with its address, and is forgotten when it is back", async () => {
  const doorway = await Doorway.open();
  const server = await redis();
  doorway.leadTo(server);
  const { adminUrl, started } = await begin(doorway, {
    redis: { url: `redis://127.0.0.1:${doorway.port}` },
  });
  await started;
  expect((await ask(`${adminUrl}/readyz`)).status).toBe(200);
  doorway.leadTo(undefined);
  await expect
    .poll(async () => (await ask(`${adminUrl}/readyz`)).reasons.join(), { timeout: 10_000 })
    .toMatch(new RegExp(`^Redis at 127\\.0\\.0\\.1:${doorway.port} does not answer`));
  expect((await fetch(`${adminUrl}/livez`)).status, "a restart would not bring Redis back").toBe(200);
  doorway.leadTo(server);
  await expect
    .poll(() => ask(`${adminUrl}/readyz`), { timeout: 10_000 })
    .toEqual({ status: 200, reasons: [] });
});

it("a drain fails /readyz first, and goes on serving for drain.delaySeconds", async () => {
  const doorway = await Doorway.open();
  doorway.leadTo(await redis());
  const { adminUrl, started } = await begin(doorway, {
    redis: { url: `redis://127.0.0.1:${doorway.port}` },
    drain: { delaySeconds: 1 },
  });
  const gateway = await started;
  const card = () => fetch(`${gateway.url}/.well-known/agent-card.json`);
  const begun = performance.now();
  const stopped = gateway.stop(2000);
  expect(await ask(`${adminUrl}/readyz`)).toEqual({ status: 503, reasons: ["shutting down"] });
  let served = 0;
  while (performance.now() - begun < 800) {
    const answer = await card();
    expect(answer.status).toBe(200);
    expect(answer.headers.get("connection")).toBe("close");
    await answer.arrayBuffer();
    served += 1;
    await sleep(50);
  }
  expect(served).toBeGreaterThan(2);
  await stopped;
  await expect(card()).rejects.toThrow();
});

it("names a Redis by its address and never by a credential", () => {
  const named = (redis: object) => nameOfRedis(parseConfig({ redis }).redis);
  expect(named({})).toBe("the embedded Redis");
  expect(named({ url: "redis://:p@ss@db:6380/2" })).toBe("Redis at db:6380");
  expect(named({ url: "rediss://user:a/b@c@[::1]:7" })).toBe("Redis at [::1]:7");
  const nodes = [
    { host: "a", port: 1 },
    { host: "b", port: 2 },
  ];
  expect(named({ cluster: { nodes }, password: "secret" })).toBe("Redis Cluster at a:1, b:2");
  expect(named({ sentinel: { name: "m", nodes } })).toBe("Redis m behind Sentinel at a:1, b:2");
});
