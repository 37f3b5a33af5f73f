import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "redis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type EmbeddedRedis, startEmbeddedRedis } from "../../src/redis/embedded.ts";
import { EmbeddedRedisError } from "../../src/redis/errors.ts";
import { findRedisServer } from "../../src/redis/find-server.ts";

const moduleUrl = new URL("../../src/redis/embedded.ts", import.meta.url).href;

let root: string;
let dir: string;
const cleanUp: (() => Promise<unknown> | unknown)[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "baton-redis-"));
  dir = join(root, "redis");
});

afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
  rmSync(root, { recursive: true, force: true });
});

async function start(folder = dir, log?: (line: string) => void): Promise<EmbeddedRedis> {
  const redis = await startEmbeddedRedis(log === undefined ? { dir: folder } : { dir: folder, log });
  cleanUp.push(() => redis.stop());
  return redis;
}

async function command(redis: { url: string }, ...words: string[]): Promise<unknown> {
  const client = createClient({ url: redis.url });
  await client.connect();
  try {
    return await client.sendCommand(words);
  } finally {
    client.destroy();
  }
}

/** Another Node process that owns an embedded Redis on `folder` and runs `then` once it is up. */
async function ownerProcess(
  folder: string,
  then = "setInterval(() => {}, 1000)",
): Promise<{ owner: ChildProcess; url: string; socketPath: string; pid: number }> {
  const source = `
    import { startEmbeddedRedis } from ${JSON.stringify(moduleUrl)};
    const redis = await startEmbeddedRedis({ dir: ${JSON.stringify(folder)} });
    console.log(JSON.stringify(redis));
    ${then};`;
  const owner = spawn(process.execPath, ["--input-type=module", "-e", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  cleanUp.push(() => owner.kill("SIGKILL"));
  const line = await new Promise<string>((resolve, reject) => {
    owner.stdout?.once("data", (chunk) => resolve(String(chunk)));
    owner.once("exit", () => reject(new Error("the owner ended before its Redis was up")));
  });
  return { owner, ...JSON.parse(line) };
}

function kill(owner: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    owner.once("exit", () => resolve());
    owner.kill("SIGKILL");
  });
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function dies(pid: number): Promise<boolean> {
  const deadline = Date.now() + 5_000;
  while (alive(pid) && Date.now() < deadline) await sleep(10);
  return !alive(pid);
}

describe("a fresh folder", () => {
  it("gets a server on a private Unix socket, durable and without eviction", async () => {
    const redis = await start();
    expect(redis.socketPath).toBe(join(dir, "redis.sock"));
    expect(statSync(dir).mode & 0o077).toBe(0);
    expect(statSync(redis.socketPath).mode & 0o077).toBe(0);
    const wanted = {
      port: "0",
      appendonly: "yes",
      appendfsync: "everysec",
      "maxmemory-policy": "noeviction",
    };
    expect(await command(redis, "CONFIG", "GET", ...Object.keys(wanted))).toEqual(wanted);
  });

  it("says each thing that it does", async () => {
    const lines: string[] = [];
    const redis = await start(dir, (line) => lines.push(line));
    expect(lines).toEqual([expect.stringContaining(`process ${redis.pid}`)]);
  });

  it("may have a path too long for a socket", async () => {
    const long = join(root, "a".repeat(90), "redis");
    const redis = await start(long);
    cleanUp.unshift(() => rmSync(dirname(redis.socketPath), { recursive: true }));
    expect(Buffer.byteLength(redis.socketPath)).toBeLessThanOrEqual(100);
    expect(await command(redis, "SET", "k", "v")).toBe("OK");
    await redis.stop();
    const again = await start(long);
    expect(again.socketPath).toBe(redis.socketPath);
    expect(await command(again, "GET", "k")).toBe("v");
  });

  it("may have a path with spaces, quotes and percent signs", async () => {
    const redis = await start(join(root, `it's 100% "odd"`));
    expect(await command(redis, "SET", "k", "v")).toBe("OK");
  });
});

describe("stop", () => {
  it("ends the server, and what was written is there after the next start", async () => {
    const first = await start();
    await command(first, "SET", "k", "v");
    await first.stop();
    expect(await dies(first.pid)).toBe(true);
    const second = await start();
    expect(second.pid).not.toBe(first.pid);
    expect(await command(second, "GET", "k")).toBe("v");
  });

  it("can be called twice, and after the server was killed", async () => {
    const lines: string[] = [];
    const redis = await start(dir, (line) => lines.push(line));
    process.kill(redis.pid, "SIGKILL");
    expect(await dies(redis.pid)).toBe(true);
    await expect.poll(() => lines.at(-1)).toContain("ended by itself");
    await redis.stop();
    await redis.stop();
    await start();
  });

  it("ends a server that hangs", async () => {
    const redis = await start();
    process.kill(redis.pid, "SIGSTOP");
    await redis.stop();
    expect(await dies(redis.pid)).toBe(true);
  });
});

describe("a start on much data", () => {
  it("returns only when all of it is loaded", async () => {
    const first = await start();
    const fill = "for i = 1, 300000 do redis.call('SET', 'k' .. i, i) end";
    await command(first, "EVAL", fill, "0");
    await first.stop();
    const second = await start();
    expect(await command(second, "DBSIZE")).toBe(300_000);
  });
});

describe("the owner of a server", () => {
  it("takes the server with it when it is killed, and loses nothing that was acknowledged", async () => {
    const { owner, pid, ...redis } = await ownerProcess(dir);
    await command(redis, "SET", "k", "v");
    await kill(owner);
    // At once, while the old server may still be on its way out.
    const next = await start();
    expect(await command(next, "GET", "k")).toBe("v");
    expect(await dies(pid)).toBe(true);
  });

  it("takes the server with it with nobody starting another", async () => {
    const { owner, pid } = await ownerProcess(dir);
    await kill(owner);
    expect(await dies(pid)).toBe(true);
  });

  it("is not kept alive by a server that it forgot to stop", async () => {
    const { owner, pid } = await ownerProcess(dir, "");
    if (owner.exitCode === null) await new Promise((resolve) => owner.once("exit", resolve));
    expect(owner.exitCode).toBe(0);
    expect(await dies(pid)).toBe(true);
  });

  it("leaves a server that could not be stopped to the next start, which ends it", async () => {
    const { owner, pid, ...redis } = await ownerProcess(dir);
    await command(redis, "SET", "k", "v");
    // A stopped server hears neither TERM nor SHUTDOWN, as if its supervisor had never told it.
    process.kill(pid, "SIGSTOP");
    cleanUp.push(() => alive(pid) && process.kill(pid, "SIGKILL"));
    await kill(owner);
    const lines: string[] = [];
    const next = await start(dir, (line) => lines.push(line));
    expect(lines[0]).toContain("left over");
    expect(lines[1]).toContain(`killing process ${pid}`);
    expect(await command(next, "GET", "k")).toBe("v");
    expect(await dies(pid)).toBe(true);
  });
});

describe("two Batons on one folder", () => {
  it("the second one gets an error that names the first, in one process", async () => {
    const first = await start();
    const error = await start().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EmbeddedRedisError);
    expect(error).toMatchObject({ reason: "folder-in-use" });
    expect(String(error)).toContain(`process ${process.pid}`);
    expect(await command(first, "PING")).toBe("PONG");
  });

  it("the second one gets an error that names the first, in another process", async () => {
    const { owner, url } = await ownerProcess(dir);
    const error = await start().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "folder-in-use" });
    expect(String(error)).toContain(`process ${owner.pid}`);
    expect(await command({ url }, "PING")).toBe("PONG");
  });

  it("of many that start at once, one wins", async () => {
    const outcomes = await Promise.allSettled([start(), start(), start(), start()]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });
});

describe("a server program that fails", () => {
  it("is quoted in the error, and the folder is free again", async () => {
    const program = join(root, "broken-server");
    writeFileSync(program, "#!/bin/sh\necho cannot allocate the moon\nexit 3\n", { mode: 0o755 });
    const env = { ...process.env, BATON_REDIS_SERVER: program };
    const error = await startEmbeddedRedis({ dir, env }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "start-failed" });
    expect(String(error)).toContain("cannot allocate the moon");
    await start();
  });

  it("in a folder that cannot be made is refused before it starts", async () => {
    writeFileSync(dir, "a file");
    await expect(startEmbeddedRedis({ dir })).rejects.toMatchObject({ reason: "bad-folder" });
  });
});

describe("the lookup of a server program", () => {
  function program(name: string): string {
    mkdirSync(join(root, "bin"), { recursive: true });
    const path = join(root, "bin", name);
    writeFileSync(path, "#!/bin/sh\n", { mode: 0o755 });
    return path;
  }

  it("takes BATON_REDIS_SERVER, then redis-server, then valkey-server", () => {
    const PATH = `${join(root, "none")}:${join(root, "bin")}`;
    const valkey = program("valkey-server");
    expect(findRedisServer({ env: { PATH } })).toBe(valkey);
    const redis = program("redis-server");
    expect(findRedisServer({ env: { PATH } })).toBe(redis);
    const own = program("own-server");
    expect(findRedisServer({ env: { PATH, BATON_REDIS_SERVER: own } })).toBe(own);
  });

  it("passes over what cannot be run, and never looks past a wrong BATON_REDIS_SERVER", () => {
    const PATH = join(root, "bin");
    chmodSync(program("redis-server"), 0o644);
    const valkey = program("valkey-server");
    expect(findRedisServer({ env: { PATH } })).toBe(valkey);
    expect(() => findRedisServer({ env: { PATH, BATON_REDIS_SERVER: "/none/redis" } })).toThrow(
      /BATON_REDIS_SERVER is \/none\/redis/,
    );
  });

  it.each([
    ["Debian", "linux", "ID=debian\n", "apt-get install"],
    ["Ubuntu", "linux", 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n', "apt-get install"],
    ["a relative of Debian", "linux", 'ID=linuxmint\nID_LIKE="ubuntu debian"\n', "apt-get install"],
    ["Fedora", "linux", "ID=fedora\n", "dnf install"],
    ["a relative of RHEL", "linux", 'ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install"],
    ["Alpine", "linux", "ID=alpine\n", "apk add"],
    ["macOS", "darwin", "", "brew install"],
  ] as const)("says what to install on %s, and only that", (_name, platform, osRelease, line) => {
    const message = missing(platform, osRelease);
    expect(message).toContain(line);
    expect(message.match(/apt-get|dnf|apk|brew/g)).toHaveLength(1);
  });

  it("lists every line on a system that it does not know", () => {
    expect(missing("linux", "ID=arch\n").match(/apt-get|dnf|apk|brew/g)).toHaveLength(4);
    expect(missing("freebsd", "").match(/apt-get|dnf|apk|brew/g)).toHaveLength(4);
  });

  it("fails the start with that error and leaves no folder behind", async () => {
    const error = await startEmbeddedRedis({ dir, env: { PATH: join(root, "none") } }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ name: "EmbeddedRedisError", reason: "server-not-found" });
    expect(existsSync(dir)).toBe(false);
  });

  function missing(platform: NodeJS.Platform, osRelease: string): string {
    try {
      return findRedisServer({ env: { PATH: join(root, "none") }, platform, osRelease });
    } catch (error) {
      expect(error).toMatchObject({ reason: "server-not-found" });
      return String(error);
    }
  }
});
