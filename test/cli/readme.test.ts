import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { artifactTexts, statusText, type TestClient, testClient } from "../worker/client.ts";
import { blocksOf, freePort, ROOT, runPage } from "./markdown.ts";
import { Lines, spawnCli } from "./processes.ts";

const PAGES = [
  "README.md",
  "docs/workers.md",
  "docs/send-and-watch.md",
  "docs/worker-in-another-language.md",
];

describe("the pages", () => {
  it.each(PAGES)(
    "%s has no command that is neither run nor excused, and only links that lead somewhere",
    (page) => {
      for (const { language, code, marks } of blocksOf(page)) {
        if (language === "sh" || language === "ts")
          expect({ code, marked: marks.size > 0 }).toMatchObject({ marked: true });
      }
      const text = readFileSync(join(ROOT, page), "utf8");
      for (const [, link = ""] of text.matchAll(/\]\((?!https?:)([^)#]+)/g)) {
        expect({ link, exists: existsSync(join(ROOT, page, "..", link)) }).toEqual({ link, exists: true });
      }
    },
  );

  it.each(PAGES)("%s shows files as they are", (page) => {
    for (const { code, marks } of blocksOf(page)) {
      const file = marks.get("file");
      if (file !== undefined) expect(code).toBe(readFileSync(join(ROOT, file), "utf8"));
    }
  });
});

describe("README.md", () => {
  it("the quick start works as written", { timeout: 90_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "baton-readme-"));
    const [port, admin] = [await freePort(), await freePort()];
    try {
      const env = { BATON_DATA_DIR: join(folder, "data"), BATON_PORT: port, BATON_ADMIN_PORT: admin };
      const run = await runPage(blocksOf("README.md"), { env, port });
      expect(run.code, run.output).toBe(0);
      expect(run.expectations.length).toBeGreaterThan(2);
      for (const { printed, pattern } of run.expectations) expect(printed).toMatch(pattern);
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    }
  });
});

describe("the pages in docs", () => {
  let gateway: TestGateway;
  let env: Record<string, string>;
  const preamble = `baton() { node src/cli/main.ts "$@"; }`;

  beforeAll(async () => {
    gateway = await startTestGateway();
    env = { BATON_URL: gateway.url, BATON_ADMIN_URL: gateway.adminUrl, BATON_DATA_DIR: gateway.dataDir };
  });
  afterAll(() => gateway.stop());

  it("docs/send-and-watch.md works as written", { timeout: 90_000 }, async () => {
    const run = await runPage(blocksOf("docs/send-and-watch.md"), { env, preamble, port: "" });
    expect(run.code, run.output).toBe(0);
    expect(run.expectations.length).toBeGreaterThan(5);
    for (const { printed, pattern } of run.expectations) expect(printed).toMatch(pattern);
  });

  it("docs/workers.md: its commands work as written", { timeout: 60_000 }, async () => {
    const client = testClient(gateway.url, await gateway.vend());
    const id = await client.send("from the page");
    // The page has no end of its own; this waits until its worker has done something.
    const end = {
      language: "sh",
      code: 'while [ ! -e "$DONE" ]; do sleep 0.1; done\n',
      marks: new Map([["run", ""]]),
    };
    const done = join(gateway.dataDir, "done");
    const running = runPage([...blocksOf("docs/workers.md"), end], {
      env: { ...env, DONE: done },
      preamble,
      port: "",
    });
    try {
      const task = await client.until(id, [TaskState.COMPLETED], 20_000);
      expect(artifactTexts(task)).toEqual({ result: "FROM THE PAGE" });
    } finally {
      await writeFile(done, "");
      expect((await running).code).toBe(0);
      client.close();
    }
  });
});

describe("the examples in examples/worker", () => {
  let gateway: TestGateway;
  let client: TestClient;

  beforeAll(async () => {
    gateway = await startTestGateway();
    client = testClient(gateway.url, await gateway.vend());
  });
  afterAll(async () => {
    client.close();
    await gateway.stop();
  });

  async function withExample(name: string, use: (lines: Lines) => Promise<void>): Promise<void> {
    const env = { BATON_URL: gateway.url, BATON_CREDENTIAL: await gateway.vendWorker() };
    const child = spawnCli([], {
      cwd: ROOT,
      env,
      program: ["-C", "baton-source", `examples/worker/${name}`],
    });
    const closed = new Promise((resolve) => child.once("close", resolve));
    try {
      await use(new Lines(child));
    } finally {
      child.kill("SIGTERM");
      expect(await closed).toBe(0);
    }
  }

  it("shout.ts shouts", async () => {
    await withExample("shout.ts", async () => {
      const task = await client.until(await client.send("hello"), [TaskState.COMPLETED]);
      expect(artifactTexts(task)).toEqual({ result: "HELLO" });
    });
  });

  it("SB-28 SB-40 SB-74 report.ts asks, reports progress, refuses, fails and stops", async () => {
    await withExample("report.ts", async (lines) => {
      const id = await client.send("whales");
      const asked = await client.until(id, [TaskState.INPUT_REQUIRED]);
      expect(statusText(asked)).toBe("How many chapters about whales?");
      await client.send("2", id);
      const done = await client.until(id, [TaskState.COMPLETED]);
      expect(artifactTexts(done)).toEqual({ report: "1. whales\n2. whales\n", result: "(data)" });

      const rejected = await client.until(await client.send("a secret"), [TaskState.REJECTED]);
      expect(statusText(rejected)).toBe("I do not write about secrets.");
      const empty = await client.until(await client.send(" "), [TaskState.FAILED]);
      expect(statusText(empty)).toBe("Say what the report is to be about.");
      const wrong = await client.send("birds");
      await client.until(wrong, [TaskState.INPUT_REQUIRED]);
      await client.send("many", wrong);
      expect(statusText(await client.until(wrong, [TaskState.FAILED]))).toBe(
        '"many" is not a number of chapters.',
      );

      const endless = await client.send("everything");
      await client.until(endless, [TaskState.INPUT_REQUIRED]);
      await client.send("100000", endless);
      await client.until(endless, [TaskState.WORKING]);
      await client.a2a.cancelTask({ id: endless });
      await lines.find((line) => line === `${endless} dropped canceled`);
    });
  });
});
