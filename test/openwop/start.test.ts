import { spawn } from "node:child_process";
import { expect, it } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import { startTestGateway } from "../gateway.ts";
import type { Json } from "./rpc.ts";
import { openwopAgent } from "./setup.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

it("a credential that is not there is told at the start, by its place and not by its value", async () => {
  for (const credential of [{ env: "OPENWOP_TEST_UNSET" }, { file: "/does/not/exist" }]) {
    const agents = { briefs: openwopAgent("http://127.0.0.1:9", "echo", { credential }) };
    await expect(startTestGateway({ agents, defaultAgent: "briefs" })).rejects.toThrow(
      /OPENWOP_TEST_UNSET|does\/not\/exist/,
    );
  }
});

it.each<[string, Json, RegExp]>([
  ["a pass-through to an agent without a host", { openwop: { proxyAgent: "default" } }, /proxyAgent/],
  [
    "a host address with a trailing slash",
    { agents: { default: openwopAgent("http://h.example/", "w") } },
    /url/,
  ],
  [
    "no workflow",
    { agents: { default: openwopAgent("http://h.example", "w", { workflows: [] }) } },
    /workflows/,
  ],
  [
    "a credential in the open",
    { agents: { default: openwopAgent("http://h.example", "w", { credential: "key" }) } },
    /backend/,
  ],
])("refused: %s", (_what, document, problem) => {
  expect(() => parseConfig(document)).toThrow(problem);
});

it("OW-10 OW-18 baton demo --openwop shows the hand-off, the push and the re-attached stream", async () => {
  const child = spawn(process.execPath, ["src/cli/main.ts", "demo", "--openwop", "--json"], { cwd: ROOT });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  const lines: Json[] = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toEqual({ ok: true, failed: 0 });
  expect(lines.filter(({ step }) => step !== undefined)).toHaveLength(5);
  expect(code).toBe(0);
}, 60_000);
