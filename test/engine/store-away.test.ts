import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startEmbeddedRedis } from "../../src/redis/embedded.ts";
import { connectRedis } from "../../src/store/connect-redis.ts";

it("a command that finds no Redis fails as Unavailable in time, and does not run when Redis is back", async () => {
  const dir = await mkdtemp(join(tmpdir(), "baton-"));
  let server = await startEmbeddedRedis({ dir });
  const redis = await connectRedis({ target: { kind: "socket", path: server.socketPath }, patienceMs: 300 });
  onTestFinished(async () => {
    await redis.close();
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  });
  await redis.run("n", ["SET", "n", "1"]);
  await server.stop();
  // Closed by now, but perhaps not yet noticed here: such a command fails as well, or waits like the others.
  await expect.poll(() => redis.run("n", ["PING"]).catch((error: unknown) => error)).toHaveProperty("kind");

  const begun = Date.now();
  const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => redis.run("n", ["INCR", "n"])));
  expect(Date.now() - begun).toBeLessThan(10_000);
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { kind: "Unavailable" } });
  }

  server = await startEmbeddedRedis({ dir });
  await expect.poll(() => redis.run("n", ["GET", "n"]).then(String, () => ""), { timeout: 10_000 }).toBe("1");
}, 60_000);
