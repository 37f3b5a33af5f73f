import { copyFile, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ServeProcess, startServe } from "../cli/processes.ts";
import { eventually } from "../cluster/servers.ts";
import { killWorkerOf, workersOf } from "./children.ts";

let folder: string;
let node: string;
let serve: ServeProcess;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-spawn-"));
  node = join(folder, "node");
  await copyFile(process.execPath, node);
  serve = await startServe(join(folder, "data"), { node, cwd: folder, env: { BATON_WORKERS: "2" } });
});

afterAll(async () => {
  await serve?.end("SIGKILL");
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

it("the other workers serve on while the system has no process for one that died, and it comes back", async () => {
  const [first] = await workersOf(serve.child.pid);
  // Nothing can be started any more, as where a container has all the processes that it may.
  await rename(node, `${node}.away`);
  expect(await killWorkerOf(serve.child.pid)).toBe(first);
  await serve.lines.find((line) => line.includes("no process for worker"));
  const [left, ...more] = await workersOf(serve.child.pid);
  expect(more).toEqual([]);
  expect((await fetch(`${serve.adminUrl}/livez`)).status).toBe(200);
  const { status, statusText } = await fetch(`${serve.adminUrl}/readyz`);
  expect(status, statusText).toBe(503);
  await rename(`${node}.away`, node);
  await serve.lines.find((line) => line.includes("serves again"));
  const now = await workersOf(serve.child.pid);
  expect(now).toHaveLength(2);
  expect(now).toContain(left);
  await eventually("all are ready", async () => (await fetch(`${serve.adminUrl}/readyz`)).status === 200);
});
