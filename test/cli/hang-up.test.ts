/** SIGHUP: what a command gets when its terminal is closed. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createVendor } from "../gateway.ts";
import { Lines, START_MS, spawnCli, startServe } from "./processes.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const ADMIN_TOKEN = "admin-token-for-tests-only";
/** util-linux's: runs a command on a terminal of its own. */
const hasTerminal = spawnSync("script", ["--version"]).error === undefined;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-hang-up-"));
});
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }));

/** All that a stream of a fresh task says, once its first event is there. */
async function watchTask(gateway: {
  url: string;
  adminUrl: string;
}): Promise<{ readonly text: Promise<string> }> {
  const credential = await createVendor(gateway.adminUrl, ADMIN_TOKEN).vend();
  const response = await fetch(gateway.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "a2a-version": "1.0",
      authorization: `Bearer ${credential}`,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SendStreamingMessage",
      params: { message: { messageId: "m1", role: "ROLE_USER", parts: [{ text: "please" }] } },
    }),
  });
  expect(response.status).toBe(200);
  return { text: response.text() };
}

/** Whoever listens there has gone. */
async function gone(url: string): Promise<boolean> {
  return fetch(url).then(
    () => false,
    () => true,
  );
}

async function onTerminal(
  args: readonly string[],
): Promise<{ readonly terminal: ChildProcess; readonly lines: Lines }> {
  const program = join(folder, "serve.sh");
  // The exit code is written where it is found when the terminal is gone. The shell itself has to outlive it for that.
  const words = [process.execPath, MAIN, ...args].map((word) => `"${word}"`).join(" ");
  await writeFile(program, `trap : HUP\n${words}\necho $? > "${join(folder, "code")}"\n`);
  const terminal = spawn("script", ["--quiet", "--command", `sh ${program}`, "/dev/null"], {
    env: { PATH: process.env.PATH, TERM: "xterm", BATON_ADMIN_TOKEN: ADMIN_TOKEN },
    cwd: folder,
  });
  return { terminal, lines: new Lines(terminal) };
}

describe("SIGHUP", { timeout: 2 * START_MS }, () => {
  it("H13 drains a gateway as SIGTERM does; a second one does not cut that short", async () => {
    const env = { BATON_ADMIN_TOKEN: ADMIN_TOKEN };
    await writeFile(join(folder, "baton.yaml"), JSON.stringify({ drain: { delaySeconds: 1 } }));
    const serve = await startServe(join(folder, "data"), { cwd: folder, env });
    const { text } = await watchTask(serve);
    serve.child.kill("SIGHUP");
    await serve.lines.find((line) => line.includes("SIGHUP: letting go of clients"));
    expect(await serve.end("SIGHUP")).toBe(0);
    expect(await text).toContain("shutting down; subscribe again");
    expect(serve.lines.all.at(-1)).toContain("Baton has stopped");
  });

  it("lets a worker finish and end with 0", async () => {
    const worker = spawnCli(["worker", "--echo"], {
      cwd: folder,
      env: { BATON_URL: "http://127.0.0.1:1", BATON_CREDENTIAL: "sbk_none" },
    });
    let said = "";
    worker.stderr?.on("data", (chunk) => {
      said += chunk;
    });
    await expect.poll(() => said, { timeout: START_MS }).toContain("Working for");
    worker.kill("SIGHUP");
    expect((await once(worker, "close"))[0]).toBe(0);
    expect(said).toContain("running ones may finish");
  });

  it.skipIf(!hasTerminal).each([
    ["text", []],
    ["JSON", ["--json"]],
    ["several workers", ["--json", "--workers", "2"]],
  ])("a gateway whose terminal is closed drains, though its log cannot be written: %s", async (_, more) => {
    const ports = ["--port", "0", "--admin-port", "0", "--data-dir", join(folder, "data")];
    const { terminal, lines } = await onTerminal(["serve", ...ports, ...more]);
    const line = await lines.find((text) => text.includes("listens on"));
    const [url = "", adminUrl = ""] =
      /listens on (\S+), for operators on ([^\s",]+)/.exec(line)?.slice(1) ?? [];
    const { text } = await watchTask({ url, adminUrl });
    terminal.kill("SIGKILL");
    expect(await text).toContain("shutting down; subscribe again");
    await expect.poll(() => gone(url), { timeout: 20_000 }).toBe(true);
    const code = () => readFile(join(folder, "code"), "utf8").catch(() => "");
    await expect.poll(code, { timeout: 20_000 }).toBe("0\n");
  });
});
