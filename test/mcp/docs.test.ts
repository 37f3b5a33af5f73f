import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TOOLS } from "../../src/transports/mcp/tools/table.ts";
import { blocksOf, ROOT, runPage } from "../cli/markdown.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";

const PAGE = "docs/mcp.md";
const text = readFileSync(join(ROOT, PAGE), "utf8");

describe("docs/mcp.md", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.stop());

  it("works as written", { timeout: 60_000 }, async () => {
    const run = await runPage(blocksOf(PAGE), {
      env: { BATON_URL: gateway.url, BATON_ADMIN_URL: gateway.adminUrl, BATON_DATA_DIR: gateway.dataDir },
      preamble: `baton() { node src/cli/main.ts "$@"; }`,
      port: "",
    });
    expect(run.code, run.output).toBe(0);
    expect(run.expectations).toHaveLength(1);
    for (const { printed, pattern } of run.expectations) expect(printed).toMatch(pattern);
  });

  it("has no command that is neither run nor a file of the repository", () => {
    for (const { language, code, marks } of blocksOf(PAGE)) {
      if (language !== "json") expect({ code, marked: marks.size > 0 }).toMatchObject({ marked: true });
      const file = marks.get("file");
      if (file !== undefined) expect(code).toBe(readFileSync(join(ROOT, file), "utf8"));
    }
    for (const [, link = ""] of text.matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      expect({ link, exists: existsSync(join(ROOT, PAGE, "..", link)) }).toEqual({ link, exists: true });
    }
  });

  it("SB-70 SB-71 SB-74 the table of tools is that of the code, parameters included", () => {
    const rows = [...text.matchAll(/^\| `(\w+)` \| (?:`([^`]*)`)? ?\|/gm)]
      .map(([, name = "", parameters = ""]) => [name, parameters] as const)
      .filter(([name]) => TOOLS.has(name));
    const shown = [...TOOLS.values()].map(({ name, inputSchema }) => {
      const { properties = {}, required = [] } = inputSchema as { properties?: object; required?: string[] };
      const parameters = Object.keys(properties).map((key) => (required.includes(key) ? key : `${key}?`));
      return [name, parameters.join(", ")] as const;
    });
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(shown));
    expect(rows).toHaveLength(TOOLS.size);
  });
});
