/** There is one answer to "may a request go there?", wherever the question is put. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { BlockList } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as source from "../../src/egress/index.ts";
import { readCorpus } from "./corpus.ts";

const repository = resolve(import.meta.dirname, "../..");
const rows = readCorpus(8443);

type Egress = typeof source;

/** The guard's word on a row of the corpus by its pure parts alone: reason and range. */
function judged(egress: Egress, row: (typeof rows)[number]): string {
  const policy = egress.compilePolicy({ ports: [443, 8443] });
  const { target, refusal } = egress.judgeUrl(row.url, policy);
  if (target === undefined) return `${refusal.reason} ${refusal.range ?? "-"}`;
  const { literal, port } = target;
  const texts = literal === undefined ? (row.answers ?? []) : [egress.formatAddress(literal)];
  const verdicts = texts.map((text) => egress.judgeAddressText(text, policy, { port }));
  const bad = verdicts.find((verdict) => verdict?.allowed !== true);
  if (bad !== undefined) return `${bad.reason} ${bad.range ?? "-"}`;
  return verdicts.length < texts.length || verdicts.includes(undefined) ? "answer_unreadable -" : "allowed -";
}

describe("D10 the address classifier", () => {
  let folder: string;
  let built: Egress;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "baton-egress-"));
    // As the package is built, from the entry that others import.
    const project = {
      extends: join(repository, "tsconfig.build.json"),
      files: [join(repository, "src/egress/index.ts")],
      include: [],
      compilerOptions: {
        outDir: folder,
        rootDir: repository,
        typeRoots: [join(repository, "node_modules/@types")],
      },
    };
    const config = join(folder, "tsconfig.json");
    writeFileSync(config, JSON.stringify(project));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    execFileSync(join(repository, "node_modules/.bin/tsc"), ["-p", config], { encoding: "utf8" });
    symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
    built = (await import(pathToFileURL(join(folder, "src/egress/index.js")).href)) as Egress;
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("D10 says the same of the whole corpus from the source and as others install it", () => {
    expect(built).not.toBe(source);
    const differing = rows.filter((row) => judged(source, row) !== judged(built, row));
    expect(differing.map(({ url }) => url)).toEqual([]);
    const refused = rows.filter((row) => judged(built, row) !== "allowed -");
    expect(refused.length).toBeGreaterThanOrEqual(300);
  });

  it("D10 its table is public, and the chart's network policy refuses what it refuses", () => {
    expect(built.SPECIAL_RANGES).toEqual(source.SPECIAL_RANGES);
    const list = new BlockList();
    const ranges = readFileSync(join(repository, "helm/baton/files/not-public-ipv4.txt"), "utf8");
    for (const line of ranges.split("\n").filter((text) => /^\d/.test(text))) {
      const [address = "", bits] = line.trim().split("/");
      list.addSubnet(address, Number(bits), "ipv4");
    }
    const policy = source.compilePolicy({ ports: [8443] });
    let compared = 0;
    for (const row of rows) {
      const host = /^https:\/\/(\d+\.\d+\.\d+\.\d+):8443\/hook$/.exec(row.url)?.[1];
      if (host === undefined) continue;
      compared++;
      const verdict = source.judgeAddressText(host, policy, { port: 8443 });
      expect(list.check(host, "ipv4"), host).toBe(verdict?.allowed === false);
    }
    expect(compared).toBeGreaterThan(50);
  });

  it("D10 nothing else in the program judges addresses by a table of its own", () => {
    const files = readdirSync(join(repository, "src"), { recursive: true, encoding: "utf8" }).filter(
      (file) => file.endsWith(".ts") && !file.startsWith("egress/"),
    );
    const table =
      /["'`](?:10\.0\.0\.0|127\.0\.0\.0|169\.254\.\d+\.\d+|172\.16\.0\.0|192\.168\.0\.0|fc00:|fe80:)/;
    expect(files.length).toBeGreaterThan(200);
    expect(files.filter((file) => table.test(readFileSync(join(repository, "src", file), "utf8")))).toEqual(
      [],
    );
  });
});
