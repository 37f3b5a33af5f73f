import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../cli/markdown.ts";
import { Lines, START_MS, spawnCli } from "../cli/processes.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-"));
});
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }));

const serve = (env: Record<string, string>) =>
  spawnCli(["serve", "--json"], {
    cwd: folder,
    env: { BATON_DATA_DIR: folder, BATON_PORT: "0", BATON_ADMIN_PORT: "0", ...env },
  });

describe("baton serve --json", { timeout: 2 * START_MS }, () => {
  it("H13 SIGTERM is told in the log and ends it in good order", async () => {
    const child = serve({});
    const lines = new Lines(child);
    const started = JSON.parse(await lines.find((line) => line.includes("Baton listens on")));
    expect(started).toMatchObject({ level: "info", url: expect.stringMatching(/^http:/), pid: child.pid });
    child.kill("SIGTERM");
    const [code] = await once(child, "close");
    expect(code).toBe(0);
    const said = lines.all.map((line) => JSON.parse(line).msg);
    expect(said.slice(-2)).toEqual(["SIGTERM: letting go of clients", "Baton has stopped"]);
  });

  it("H13 SIGTERM ends it also while it waits for a Redis that is not there", async () => {
    const child = serve({ BATON_REDIS_URL: `redis://:hunter2@127.0.0.1:${await freePort()}` });
    const lines = new Lines(child);
    await lines.find((line) => line.includes("ECONNREFUSED"));
    child.kill("SIGTERM");
    const [code] = await once(child, "close");
    expect(code).toBe(0);
    expect(JSON.parse(lines.all.at(-1) ?? "")).toMatchObject({ signal: "SIGTERM" });
    expect(lines.all.join("")).not.toContain("hunter2");
  });
});
