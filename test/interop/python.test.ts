/** The official Python client, where the machine has Python and its registry; elsewhere skipped, and said so. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { startScriptedWorker } from "./scripted-worker.ts";

const run = promisify(execFile);
const PACKAGES = ["a2a-sdk[http-server,grpc]==1.3.0"];
const ROOT = join(import.meta.dirname, "../../node_modules/.cache/baton-interop");
const FOLDER = join(ROOT, "python-a2a-sdk-1.3.0");
const DRIVE = join(import.meta.dirname, "peers/python/drive.py");
const PYTHON = join(FOLDER, "bin/python");
const INSTALL_MS = 180_000;

/** Installs the client once, into a folder of its own; answers why it cannot. */
async function prepare(): Promise<string | undefined> {
  const ready = join(FOLDER, "bin/a2a-ready");
  if (existsSync(ready)) return undefined;
  try {
    await mkdir(ROOT, { recursive: true });
    await run("python3", ["-m", "venv", "--clear", FOLDER], { timeout: INSTALL_MS });
    await run(PYTHON, ["-m", "pip", "install", "--quiet", ...PACKAGES], { timeout: INSTALL_MS });
    await run(PYTHON, [
      "-c",
      "import a2a.client, grpc, pathlib; pathlib.Path(__import__('sys').argv[1]).touch()",
      ready,
    ]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
  }
}

const missing = await prepare();
if (missing !== undefined) {
  console.warn(`\n*** SKIPPED: the official Python client cannot be installed here: ${missing} ***\n`);
}

interface Seen {
  readonly offered: number;
  readonly send: unknown;
  readonly stream: readonly string[];
  readonly subscribe: readonly string[];
  readonly ask: unknown;
  readonly list?: readonly [number, number, boolean];
  readonly cancel: string;
  readonly get: string;
  readonly unknown: string;
  readonly push: string;
  readonly ended: string;
}

describe.skipIf(missing !== undefined)("a2a-sdk for Python, 1.3.0", () => {
  let gateway: TestGateway;
  let worker: { stop(): Promise<void> };

  beforeAll(async () => {
    gateway = await startTestGateway();
    worker = await startScriptedWorker(gateway);
  });
  afterAll(async () => {
    await worker?.stop();
    await gateway?.stop();
  });

  const drive = async (binding: string, version: string): Promise<Seen> => {
    const args = [DRIVE, gateway.url, await gateway.vend({ push: true }), binding, version];
    const { stdout } = await run(PYTHON, args, { timeout: 60_000 }).catch(
      (error: Error & { stderr?: string }) => {
        throw new Error(error.stderr?.slice(-3000) ?? error.message);
      },
    );
    return JSON.parse(stdout) as Seen;
  };

  it.each(["JSONRPC", "HTTP+JSON", "GRPC"])(
    "A2A-1, A2A-178 1.0 over %s",
    { timeout: 90_000 },
    async (binding) => {
      const seen = await drive(binding, "1.0");
      expect(seen.offered).toBeGreaterThan(0);
      expect(seen.send).toEqual(["TASK_STATE_COMPLETED", ["echo done"]]);
      expect(seen.stream[0]).toMatch(/^task /);
      expect(seen.stream.filter((text) => text === "artifact_update")).toHaveLength(3);
      expect(seen.stream.at(-1)).toBe("status TASK_STATE_COMPLETED");
      expect(seen.subscribe.filter((text) => text.startsWith("task "))).toHaveLength(2);
      expect(seen.subscribe.at(-1)).toBe("status TASK_STATE_COMPLETED");
      expect(seen.ask).toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED", true]);
      expect(seen.list).toEqual([2, 4, true]);
      expect([seen.cancel, seen.get]).toEqual(["TASK_STATE_CANCELED", "TASK_STATE_CANCELED"]);
      expect(seen.unknown).toBe("TaskNotFoundError");
      // Over gRPC the client has a type only for the nine errors of the protocol.
      expect(seen.push).toBe(binding === "GRPC" ? "A2AClientError" : "InvalidParamsError");
      expect(seen.ended).toBe("UnsupportedOperationError");
    },
  );

  it.each(["JSONRPC", "HTTP+JSON", "GRPC"])(
    "A2A-22, FR-70 0.3 over %s",
    { timeout: 90_000 },
    async (binding) => {
      const seen = await drive(binding, "0.3");
      expect(seen.offered).toBeGreaterThan(0);
      expect(seen.send).toEqual(["TASK_STATE_COMPLETED", ["echo done"]]);
      expect(seen.stream.at(-1)).toBe("status TASK_STATE_COMPLETED");
      expect(seen.subscribe.at(-1)).toBe("status TASK_STATE_COMPLETED");
      expect(seen.ask).toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED", true]);
      expect([seen.cancel, seen.get]).toEqual(["TASK_STATE_CANCELED", "TASK_STATE_CANCELED"]);
      expect(seen.unknown).not.toBe("nothing");
      expect(seen.push).not.toBe("nothing");
      expect(seen.ended).not.toBe("nothing");
    },
  );
});
