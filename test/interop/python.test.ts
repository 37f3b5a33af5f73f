/** The official Python client, where the machine has Python and its registry; elsewhere skipped, and said so. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { GRPC_PATHS } from "./grpc-paths.ts";
import { INSTALL_MS, INTEROP_CACHE, type Seen, seenBy, skipped } from "./installed.ts";
import { startScriptedWorker } from "./scripted-worker.ts";

const run = promisify(execFile);
const PACKAGES = ["a2a-sdk[http-server,grpc]==1.3.0"];
const FOLDER = join(INTEROP_CACHE, "python-a2a-sdk-1.3.0");
const DRIVE = join(import.meta.dirname, "peers/python/drive.py");
const PYTHON = join(FOLDER, "bin/python");

/** Installs the client once, into a folder of its own; true where that cannot be done. */
async function prepare(): Promise<boolean> {
  const ready = join(FOLDER, "bin/a2a-ready");
  if (existsSync(ready)) return false;
  try {
    await mkdir(INTEROP_CACHE, { recursive: true });
    await run("python3", ["-m", "venv", "--clear", FOLDER], { timeout: INSTALL_MS });
    await run(PYTHON, ["-m", "pip", "install", "--quiet", "--retries", "0", "--timeout", "20", ...PACKAGES], {
      timeout: INSTALL_MS,
    });
    await run(PYTHON, ["-c", "import a2a.client, grpc"]);
    await writeFile(ready, "");
    return false;
  } catch (error) {
    return skipped("the official Python client", error);
  }
}

const missing = await prepare();

describe.skipIf(missing)("a2a-sdk for Python, 1.3.0", () => {
  describe.each(GRPC_PATHS)("a gateway with $path", ({ listen, bindings }) => {
    let gateway: TestGateway;
    let worker: { stop(): Promise<void> };

    beforeAll(async () => {
      gateway = await startTestGateway({ listen });
      worker = await startScriptedWorker(gateway);
    });
    afterAll(async () => {
      await worker?.stop();
      await gateway?.stop();
    });

    const drive = async (binding: string, version: string) =>
      seenBy<Seen>(PYTHON, [DRIVE, gateway.url, await gateway.vend({ push: true }), binding, version]);

    it.each(bindings)("A2A-1, A2A-178 1.0 over %s", { timeout: 90_000 }, async (binding) => {
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
      expect(seen.push).toBe("InvalidParamsError");
      expect(seen.ended).toBe("UnsupportedOperationError");
    });

    it.each(bindings)("A2A-22, FR-70 0.3 over %s", { timeout: 90_000 }, async (binding) => {
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
    });
  });
});
