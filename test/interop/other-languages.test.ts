/**
 * The last official Python and Go clients of the 0.3 line, which know nothing of 1.0. Where the machine lacks the language
 * or its registry they are skipped, and it is said so.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { GRPC_PATHS } from "./grpc-paths.ts";
import { INSTALL_MS, INTEROP_CACHE, seenBy, skipped } from "./installed.ts";
import { startScriptedWorker } from "./scripted-worker.ts";

const run = promisify(execFile);

interface Client {
  readonly name: string;
  readonly transports: readonly (keyof typeof ERRORS)[];
  /** Installs the client, once for all runs. Throws where that cannot be done here. */
  install(): Promise<void>;
  /** The program and its first arguments. */
  readonly command: readonly [string, ...string[]];
}

const venv = join(INTEROP_CACHE, "python-a2a-sdk-0.3.26");
const goProgram = join(INTEROP_CACHE, "go-a2a-client-0.3.15");

const CLIENTS: readonly Client[] = [
  {
    name: "a2a-sdk for Python, 0.3.26",
    transports: ["JSONRPC", "HTTP+JSON", "GRPC"],
    command: [join(venv, "bin/python"), join(import.meta.dirname, "python/drive_v03.py")],
    async install() {
      const ready = join(venv, "bin/a2a-ready");
      if (existsSync(ready)) return;
      const python = join(venv, "bin/python");
      await run("python3", ["-m", "venv", "--clear", venv], { timeout: INSTALL_MS });
      const packages = ["a2a-sdk[http-server,grpc]==0.3.26"];
      await run(python, ["-m", "pip", "install", "--quiet", ...packages], { timeout: INSTALL_MS });
      await run(python, ["-c", "import a2a.client, grpc"]);
      await writeFile(ready, "");
    },
  },
  {
    name: "a2a-go, 0.3.15",
    transports: ["JSONRPC", "GRPC"],
    command: [goProgram],
    async install() {
      const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local" };
      const cwd = join(import.meta.dirname, "go");
      await run("go", ["build", "-o", goProgram, "."], { cwd, env, timeout: INSTALL_MS });
    },
  },
];

/** What the programs print. */
interface Seen {
  readonly offered: number;
  readonly send: readonly [string, readonly string[]];
  readonly stream: readonly string[];
  readonly subscribe: readonly string[];
  readonly ask: readonly [string, string, boolean];
  readonly cancel: readonly [string, string, number];
  readonly push: readonly [string, string];
  readonly refused: string;
  readonly unknown: string;
  readonly ended: string;
}

/** What a client says of a push address that is refused, of an unknown task and of a message to an ended one. */
const ERRORS = {
  JSONRPC: {
    refused: /pushNotificationConfig\.url: the destination is refused/,
    unknown: /task not found/i,
    ended: /the task has ended/,
  },
  GRPC: {
    refused: /config\.pushNotificationConfig\.url: the destination is refused/,
    unknown: /task not found/i,
    ended: /the task has ended/,
  },
  // The Python client looks at nothing but the status.
  "HTTP+JSON": { refused: /HTTP Error 400/, unknown: /HTTP Error 404/, ended: /HTTP Error 400/ },
} as const;

await mkdir(INTEROP_CACHE, { recursive: true });
const tried = await Promise.all(
  CLIENTS.map(async (client) => {
    try {
      await client.install();
      return { client, missing: false };
    } catch (error) {
      return { client, missing: skipped(client.name, error) };
    }
  }),
);

describe.each(tried)("$client.name", ({ client, missing }) => {
  describe.skipIf(missing).each(GRPC_PATHS)("drives a gateway with $path", ({ listen, bindings }) => {
    let gateway: TestGateway;
    let worker: { stop(): Promise<void> };

    beforeAll(async () => {
      // A receiver on this machine is allowed, where nobody listens, so that a registration can succeed.
      gateway = await startTestGateway({
        listen,
        push: { allow: [{ cidr: "127.0.0.1/32", ports: ["1024-65535"] }] },
      });
      worker = await startScriptedWorker(gateway);
    });
    afterAll(async () => {
      await worker?.stop();
      await gateway?.stop();
    });

    const drive = async (transport: keyof typeof ERRORS): Promise<Seen> => {
      const [program, ...first] = client.command;
      return seenBy<Seen>(program, [...first, gateway.url, await gateway.vend({ push: true }), transport]);
    };

    const spoken = client.transports.filter((transport) => bindings.some((binding) => binding === transport));
    it.each(spoken)("A2A-22 A2A-163 FR-70 over %s", { timeout: 90_000 }, async (transport) => {
      const seen = await drive(transport);
      expect(seen.offered).toBeGreaterThan(0);
      expect(seen.send).toEqual(["completed", ["echo done"]]);
      expect(seen.stream[0]).toMatch(/^task /);
      expect(seen.stream.filter((text) => text === "artifact")).toHaveLength(3);
      expect(seen.stream.at(-1)).toBe("status completed final");
      expect(seen.stream.filter((text) => text.endsWith("final"))).toHaveLength(1);
      expect(seen.subscribe.filter((text) => text.startsWith("task "))).toHaveLength(2);
      expect(seen.subscribe.at(-1)).toBe("status completed final");
      expect(seen.ask).toEqual(["input-required", "completed", true]);
      expect(seen.cancel).toEqual(["canceled", "canceled", 1]);
      expect(seen.push).toEqual(["mine", "https://127.0.0.1:1029/hook"]);
      const { refused, unknown, ended } = ERRORS[transport];
      expect(seen.refused).toMatch(refused);
      expect(seen.unknown).toMatch(unknown);
      expect(seen.ended).toMatch(ended);
    });
  });
});
