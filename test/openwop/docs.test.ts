import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { parseConfig } from "../../src/config/load.ts";
import { openwopBackend } from "../../src/config/openwop.ts";

const page = readFileSync(new URL("../../docs/openwop.md", import.meta.url), "utf8");

it("OW-5 the page's configuration is one, and its skills are the routed workflows", () => {
  const text = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  const config = parseConfig(parse(text));
  const agent = config.agents.briefs;
  expect(agent?.card.skills.map(({ id }) => id)).toEqual(["campaign-brief"]);
  expect(agent).toMatchObject({ cancelOnTerminal: "error", pushContent: "references" });
});

it("the page tells the defaults that the configuration has", () => {
  const defaults = openwopBackend.parse({
    kind: "openwop",
    url: "https://host.example",
    workflows: ["w"],
    credential: { env: "X" },
  });
  const row = (key: string) => new RegExp(`^\\| \`${key}\` \\| ([^|]+) \\|`, "m").exec(page)?.[1]?.trim();
  expect(row("maxWaitSeconds")).toBe(String(defaults.maxWaitSeconds));
  expect(row("followers.streams")).toBe(String(defaults.followers.streams));
  expect(row("followers.leaseSeconds")).toBe(String(defaults.followers.leaseSeconds));
  expect(row("retentionCheckSeconds")).toBe(String(defaults.retentionCheckSeconds));
  expect(row("failureText")).toBe(`\`${defaults.failureText}\``);
  expect(row("inputs")).toBe(
    Object.values(defaults.inputs)
      .map((name) => `\`${name}\``)
      .join(", "),
  );
});
