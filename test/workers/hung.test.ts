import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ServeProcess, START_MS, startServe } from "../cli/processes.ts";
import { workersOf } from "./children.ts";

let folder: string;
let serve: ServeProcess;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-hung-"));
  const data = join(folder, "data");
  serve = await startServe(data, {
    program: [fileURLToPath(new URL("watched-primary.ts", import.meta.url))],
    cwd: folder,
    env: { BATON_WORKERS: "2", BATON_PORT: "0", BATON_ADMIN_PORT: "0", BATON_DATA_DIR: data },
  });
});

afterAll(async () => {
  await serve?.end("SIGKILL");
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** A connection of its own, and so any of the workers. */
async function live(): Promise<number> {
  const response = await fetch(`${serve.adminUrl}/livez`, {
    headers: { connection: "close" },
    signal: AbortSignal.timeout(5_000),
  });
  await response.text();
  return response.status;
}

it("a worker that hangs is killed and another takes its place, while the others serve on", {
  timeout: 2 * START_MS,
}, async () => {
  const [victim, other] = await workersOf(serve.child.pid);
  if (victim === undefined || other === undefined) throw new Error("there are no two workers");
  // It is there and holds its ports, and does nothing at all, as in an endless loop.
  process.kill(victim, "SIGSTOP");
  const line = await serve.lines.find((text) => text.includes("hangs: killing it"));
  const number = /worker (\d) hangs/.exec(line)?.[1];
  await serve.lines.find((text) => text.includes(`worker ${number} ended (SIGKILL): starting another`));
  await serve.lines.find((text) => text.includes(`worker ${number} serves again`));
  const now = await workersOf(serve.child.pid);
  expect(now).toHaveLength(2);
  expect(now).toContain(other);
  expect(now).not.toContain(victim);
  // None of them is dealt to a process that does not answer.
  expect(await Promise.all(Array.from({ length: 20 }, live))).toEqual(Array(20).fill(200));
});
