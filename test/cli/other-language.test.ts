import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { blocksOf, ROOT, runPage } from "./markdown.ts";

const PAGE = "docs/worker-in-another-language.md";
/** Kept between runs, so that only the first one fetches packages. */
const CACHE = join(ROOT, "node_modules/.cache/baton-python-worker");

/** Why the page cannot be run here, or undefined. Python and its registry are no part of the product. */
function missing(): string | undefined {
  const venv = join(CACHE, "venv");
  try {
    execFileSync("python3", ["-m", "venv", venv], { stdio: "pipe", timeout: 60_000 });
    execFileSync(
      join(venv, "bin/pip"),
      ["install", "--quiet", "--retries", "1", "--timeout", "15", "grpcio==1.85.3", "grpcio-tools==1.85.1"],
      { stdio: "pipe", timeout: 120_000 },
    );
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
  }
}

describe(PAGE, () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.stop());

  it("works as written: stubs, credential, worker, answer", { timeout: 300_000 }, async (context) => {
    const reason = missing();
    if (reason !== undefined) {
      process.stderr.write(`SKIPPED: ${PAGE} needs Python with pip and its registry: ${reason}\n`);
      context.skip();
    }
    const run = await runPage(blocksOf(PAGE), {
      env: {
        BATON_URL: gateway.url,
        BATON_ADMIN_URL: gateway.adminUrl,
        BATON_DATA_DIR: gateway.dataDir,
        VENV: join(CACHE, "venv"),
        STUBS: join(CACHE, "stubs"),
      },
      preamble: `baton() { node src/cli/main.ts "$@"; }`,
      port: "",
      limitMs: 240_000,
    });
    expect(run.code, run.output).toBe(0);
    expect(run.expectations.length).toBe(1);
    for (const { printed, pattern } of run.expectations) expect(printed).toMatch(pattern);
  });
});
