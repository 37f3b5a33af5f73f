import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import { blocksOf, ROOT, runPage } from "../cli/markdown.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";

const PAGES = [
  "docs/operate.md",
  "docs/scale.md",
  "docs/upgrade.md",
  "docs/troubleshoot.md",
  "docs/console.md",
];

const text = (page: string) => readFileSync(join(ROOT, page), "utf8");

describe("the pages for operators", () => {
  let gateway: TestGateway;
  let metrics: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
  });
  afterAll(() => gateway.stop());

  it.each(PAGES)("%s marks every command, and its links lead somewhere", (page) => {
    for (const { language, code, marks } of blocksOf(page)) {
      if (language === "sh")
        expect({ code, marked: marks.size > 0 }).toMatchObject({
          marked: true,
        });
    }
    for (const [, link = ""] of text(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
      expect({ link, exists: existsSync(join(ROOT, page, "..", link)) }).toEqual({ link, exists: true });
    }
  });

  it.each(["docs/operate.md", "docs/upgrade.md", "docs/troubleshoot.md"])(
    "%s works as written",
    { timeout: 60_000 },
    async (page) => {
      const env = {
        BATON_URL: gateway.url,
        BATON_ADMIN_URL: gateway.adminUrl,
        BATON_DATA_DIR: gateway.dataDir,
      };
      const preamble = `baton() { node src/cli/main.ts "$@"; }`;
      const run = await runPage(blocksOf(page), { env, preamble, port: "" });
      expect(run.code, run.output).toBe(0);
      for (const { printed, pattern } of run.expectations) expect(printed).toMatch(pattern);
    },
  );

  it.each(PAGES)("%s names only metrics that the gateway serves", (page) => {
    const served = new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    for (const [, name] of text(page).matchAll(/`((?:baton|rpc_server|nodejs)_[a-z0-9_]+)(?:\{[^`]*\})?`/g)) {
      expect(served.has(name), name).toBe(true);
    }
  });

  it.each(PAGES)("%s names only settings that there are", (page) => {
    const roots = Object.keys(configSchema.shape);
    const named = text(page).matchAll(/`(?:config\.)?([a-z][A-Za-z]+(?:\.[a-z][A-Za-z0-9]+)+)/g);
    for (const [, path = ""] of named) {
      const keys = path.split(".");
      if (!roots.includes(keys[0] ?? "") || isOfTheChart(keys)) continue;
      expect(defined(keys), path).toBe(true);
    }
  });
});

/** Values of the chart that begin like a setting: `push.existingSecret`, `redis.urlKey`. */
function isOfTheChart(keys: readonly string[]): boolean {
  const values = text("helm/baton/README.md");
  return values.includes(`| \`${keys.join(".")}\` |`);
}

function defined(keys: readonly string[]): boolean {
  const problems = configSchema.safeParse(
    keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), Symbol("x")),
  );
  return !(problems.error?.issues ?? []).some(({ code }) => code === "unrecognized_keys");
}
