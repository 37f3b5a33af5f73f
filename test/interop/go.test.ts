/** The official Go client, where the machine has Go and its modules; elsewhere skipped, and said so. */
import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { GRPC_PATHS } from "./grpc-paths.ts";
import { INSTALL_MS, INTEROP_CACHE, type Seen, seenBy, skipped } from "./installed.ts";
import { startScriptedWorker } from "./scripted-worker.ts";

const run = promisify(execFile);
const SOURCE = join(import.meta.dirname, "peers/go");
const PROGRAM = join(INTEROP_CACHE, "go-a2a-client");

const missing = await (async () => {
  try {
    await mkdir(INTEROP_CACHE, { recursive: true });
    const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local" };
    await run("go", ["build", "-o", PROGRAM, "."], { cwd: SOURCE, env, timeout: INSTALL_MS });
    return false;
  } catch (error) {
    return skipped("the official Go client", error);
  }
})();

describe.skipIf(missing).each(GRPC_PATHS)(
  "a2a-go, 2.4.0, at a gateway with $path",
  ({ listen, bindings }) => {
    let gateway: TestGateway;
    let worker: { stop(): Promise<void> };

    beforeAll(async () => {
      // What fleets of Go clients need (a2a.md 2.5.1).
      gateway = await startTestGateway({ listen, streams: { earlyErrors: "sse" } });
      worker = await startScriptedWorker(gateway);
    });
    afterAll(async () => {
      await worker?.stop();
      await gateway?.stop();
    });

    const drive = async (binding: string, version: string) =>
      seenBy<Seen>(PROGRAM, [gateway.url, await gateway.vend({ push: true }), binding, version]);

    const spoken = bindings.flatMap((binding) => [
      [binding, "1.0"],
      [binding, "0.3"],
    ]);
    it.each(spoken)("A2A-1, A2A-178 %s, %s", { timeout: 90_000 }, async (binding = "", version = "") => {
      const seen = await drive(binding, version);
      expect(seen.offered).toBeGreaterThan(0);
      expect(seen.send).toEqual(["TASK_STATE_COMPLETED", ["echo done"]]);
      expect(seen.stream[0]).toMatch(/^task /);
      expect(seen.stream.filter((text) => text === "artifact")).toHaveLength(3);
      expect(seen.stream.at(-1)).toBe("status TASK_STATE_COMPLETED");
      expect(seen.subscribe.filter((text) => text.startsWith("task "))).toHaveLength(2);
      expect(seen.subscribe.at(-1)).toBe("status TASK_STATE_COMPLETED");
      expect(seen.ask).toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED", true]);
      if (version === "1.0") expect(seen.list).toEqual([2, 4, true]);
      expect(seen.cancel).toBe("TASK_STATE_CANCELED");
      expect(seen.unknown).toBe("TaskNotFound");
      expect(seen.push).toBe("InvalidParams");
      expect(seen.ended).toBe("UnsupportedOperation");
    });
  },
);
