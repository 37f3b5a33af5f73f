import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { startServe } from "./processes.ts";

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

describe("baton serve without its embedded Redis", () => {
  it("ends with 1 and says why, so that a supervisor starts both again; then it serves as before", async () => {
    const folder = await mkdtemp(join(tmpdir(), "baton-"));
    folders.push(folder);
    const first = await startServe(folder);
    const ended = new Promise((resolve) => first.child.once("close", resolve));
    process.kill(Number(readFileSync(join(folder, "redis/redis.pid"), "utf8")), "SIGKILL");
    expect(await ended).toBe(1);
    await first.lines.find((line) => line.includes("The embedded Redis ended by itself"));

    const second = await startServe(folder);
    expect((await fetch(`${second.adminUrl}/readyz`)).status).toBe(200);
    expect(await second.end("SIGTERM")).toBe(0);
  });
});
