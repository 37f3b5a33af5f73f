/** A Redis that is there and answers nothing: stopped, behind a network that drops packets, on a machine without power. */

import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer, connect as dial, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { type EmbeddedRedis, startEmbeddedRedis } from "../../src/redis/embedded.ts";
import { connectRedis } from "../../src/store/connect-redis.ts";

let dir: string;
let server: EmbeddedRedis;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "baton-"));
  server = await startEmbeddedRedis({ dir });
});
afterAll(async () => {
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
});

/** A way to the server. While `silent`, connections are taken, and what is said on old and new ones goes nowhere. */
async function startWay() {
  let silent = false;
  let subscribes = Number.POSITIVE_INFINITY;
  const sockets = new Set<Socket>();
  const deaf = new Set<Socket>();
  const way = createServer((near) => {
    sockets.add(near);
    near.on("error", () => {});
    if (silent) deaf.add(near.resume());
    else {
      const far = dial(server.socketPath);
      far.on("error", () => {});
      near.on("data", (bytes: Buffer) => {
        if (bytes.includes("ssubscribe") && !deaf.has(near) && --subscribes === 0) near.destroy();
        else if (!deaf.has(near)) far.write(bytes);
      });
      far.on("data", (bytes) => deaf.has(near) || near.write(bytes));
      near.on("close", () => far.destroy());
      far.on("close", () => near.destroy());
    }
  });
  await new Promise<void>((resolve) => way.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    way.close();
  });
  return {
    url: `redis://127.0.0.1:${(way.address() as AddressInfo).port}`,
    /** As when the machine at the other end is gone: what stood stays silent for ever. */
    fallSilent() {
      silent = true;
      for (const socket of sockets) deaf.add(socket);
    },
    speak() {
      silent = false;
    },
    /** Cuts the connection on which the `nth` channel from now is asked for, once. */
    breakAt(nth: number) {
      subscribes = nth;
    },
  };
}

it("fails what is under way as Unavailable, and is connected to anew; channels are heard again", async () => {
  const way = await startWay();
  const errors: unknown[] = [];
  const redis = await connectRedis({
    target: { kind: "single", url: way.url },
    patienceMs: 400,
    stallMs: 400,
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => redis.close());
  const heard: string[] = [];
  let reconnects = 0;
  redis.onSubscriberReconnect(() => {
    reconnects++;
  });
  const listener = (payload: Buffer) => heard.push(String(payload));
  const dropped = (payload: Buffer) => heard.push(`dropped ${payload}`);
  await redis.subscribe("{c}bell", listener);
  await redis.subscribe("{c}bell", dropped);
  await redis.unsubscribe("{c}bell", dropped);
  await redis.run("{c}bell", ["SPUBLISH", "{c}bell", "before"]);
  await expect.poll(() => heard).toEqual(["before"]);

  way.fallSilent();
  const begun = performance.now();
  const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => redis.run("n", ["INCR", "n"])));
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { kind: "Unavailable" } });
  }
  // It answers nothing on a new connection either: what is asked meanwhile ends, too.
  await expect(redis.run("n", ["INCR", "n"])).rejects.toMatchObject({ kind: "Unavailable" });
  expect(performance.now() - begun).toBeLessThan(8000);
  expect(errors.map(String).join()).toContain("answered nothing for 400 ms");

  way.speak();
  const answer = () => redis.run("n", ["GET", "n"]).then(String, () => "none");
  await expect.poll(answer, { timeout: 10_000 }).toBe("null");
  await expect.poll(() => reconnects, { timeout: 10_000 }).toBeGreaterThan(0);
  await expect
    .poll(
      async () => {
        await redis.run("{c}bell", ["SPUBLISH", "{c}bell", "after"]);
        return [...new Set(heard)];
      },
      { timeout: 10_000 },
    )
    .toEqual(["before", "after"]);
}, 60_000);

it("hears all channels again where the new connection breaks while they are asked for", async () => {
  const way = await startWay();
  const redis = await connectRedis({
    target: { kind: "single", url: way.url },
    patienceMs: 400,
    stallMs: 400,
    onError: () => {},
  });
  onTestFinished(() => redis.close());
  let reconnects = 0;
  redis.onSubscriberReconnect(() => {
    reconnects++;
  });
  const heard = new Set<string>();
  const channels = Array.from({ length: 6 }, (_, index) => `{c}bell${index}`);
  const listeners = channels.map((channel) => () => heard.add(channel));
  for (const [index, channel] of channels.entries())
    await redis.subscribe(channel, listeners[index] ?? (() => {}));
  way.fallSilent();
  await redis.run("n", ["PING"]).catch(() => {});
  way.breakAt(3);
  way.speak();
  await expect
    .poll(() => redis.run("n", ["PING"]).then(String, () => "none"), { timeout: 10_000 })
    .toBe("PONG");
  await expect
    .poll(
      async () => {
        for (const channel of channels) await redis.run(channel, ["SPUBLISH", channel, "x"]);
        return [...heard].sort();
      },
      { timeout: 10_000, interval: 100 },
    )
    .toEqual(channels);
  await expect.poll(() => reconnects).toBeGreaterThan(0);
  // What was given up in the meantime stays so.
  for (const [index, channel] of channels.entries())
    await redis.unsubscribe(channel, listeners[index] ?? (() => {}));
  expect(await redis.run("{c}", ["PUBSUB", "SHARDCHANNELS", "{c}*"])).toEqual([]);
}, 60_000);

it("is left alone while nothing is asked, and while it answers others during what takes long", async () => {
  const way = await startWay();
  const errors: unknown[] = [];
  // Redis looks at its clock ten times a second, so that a wait may last a tenth longer.
  const options = { patienceMs: 300, stallMs: 500, onError: (error: unknown) => errors.push(error) };
  const redis = await connectRedis({ target: { kind: "single", url: way.url }, ...options });
  onTestFinished(() => redis.close());
  const connection = async () => String(await redis.run("n", ["CLIENT", "ID"]));
  const before = await connection();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect(await connection()).toBe(before);
  // Longer than the limit in all, each shorter.
  for (let i = 0; i < 4; i++) await redis.run("n", ["WAIT", "1", "200"]);
  await Promise.all(Array.from({ length: 4 }, () => redis.run("n", ["WAIT", "1", "150"])));
  expect(await connection()).toBe(before);
  expect(errors).toEqual([]);
});

it("lets itself be closed while the server says nothing", async () => {
  const way = await startWay();
  const redis = await connectRedis({ target: { kind: "single", url: way.url } });
  await redis.run("n", ["PING"]);
  way.fallSilent();
  const asked = redis.run("n", ["PING"]).catch((error: unknown) => error);
  await redis.close();
  expect(await asked).toMatchObject({ kind: "Unavailable" });
}, 20_000);
