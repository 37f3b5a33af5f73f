import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { blocksOf, freePort, ROOT, runPage } from "../cli/markdown.ts";

/** The page needs them, and they are no part of Baton. */
const hasTools = ["openssl", "curl"].every((tool) => spawnSync(tool, ["--version"]).error === undefined);

describe("docs/onboard.md", () => {
  it.skipIf(!hasTools)(
    "SB-61 SB-62 SB-66 onboarding a friend works as written, from the request to the end",
    { timeout: 120_000 },
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "baton-onboard-"));
      const [port, admin] = [await freePort(), await freePort()];
      try {
        const env = {
          BATON_DATA_DIR: join(folder, "data"),
          BATON_PORT: port,
          BATON_ADMIN_PORT: admin,
          TMPDIR: folder,
        };
        const preamble = `baton() { node src/cli/main.ts "$@"; }`;
        const run = await runPage(blocksOf("docs/onboard.md"), { env, preamble, port, limitMs: 110_000 });
        expect(run.code, run.output).toBe(0);
        expect(run.expectations.length).toBeGreaterThan(7);
        for (const { code, printed, pattern } of run.expectations) expect(printed, code).toMatch(pattern);
        expect(run.output).toContain("@@ done");
      } finally {
        await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
      }
    },
  );

  it.each(["docs/onboard.md", "docs/secure.md", "docs/extensions/endpoint.md"])(
    "%s has no command that is not run, and only links that lead somewhere",
    (page) => {
      for (const { language, code, marks } of blocksOf(page)) {
        if (language === "sh") expect({ code, marked: marks.size > 0 }).toMatchObject({ marked: true });
      }
      const text = readFileSync(join(ROOT, page), "utf8");
      for (const [, link = ""] of text.matchAll(/\]\((?!https?:)([^)#]+)/g)) {
        expect({ link, exists: existsSync(join(ROOT, page, "..", link)) }).toEqual({ link, exists: true });
      }
    },
  );
});
