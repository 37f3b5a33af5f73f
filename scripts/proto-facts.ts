/**
 * Compares the A2A definitions under proto/ with the tables of facts taken from the protocol's releases.
 *
 *     node scripts/proto-facts.ts [--facts table.tsv]... [--image image.binpb]
 *
 * Without --facts both versions are checked; without --image the image is built from proto/. Prints each difference,
 * and ends with 1 when there is any.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { buf } from "./buf.ts";
import { amend, compare } from "./proto-facts/compare.ts";
import { describe } from "./proto-facts/describe.ts";
import { readTable } from "./proto-facts/read-table.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const tables = join(root, "test/unit/proto/facts");

function buildImage(): Uint8Array {
  const scratch = mkdtempSync(join(tmpdir(), "baton-facts-"));
  try {
    const path = join(scratch, "image.binpb");
    buf(["build", "proto", "-o", path], root);
    return readFileSync(path);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function main(): void {
  const { values } = parseArgs({
    options: { facts: { type: "string", multiple: true }, image: { type: "string" } },
  });
  const paths =
    values.facts ?? ["a2a-proto-facts.tsv", "a2a-v03-proto-facts.tsv"].map((name) => join(tables, name));
  const image = fromBinary(FileDescriptorSetSchema, values.image ? readFileSync(values.image) : buildImage());
  const deliberate = readTable(readFileSync(join(tables, "a2a-v03-deliberate.tsv"), "utf8"));

  let elements = 0;
  let differences = 0;
  for (const path of paths) {
    const table = readTable(readFileSync(path, "utf8"));
    const file = image.file.find((candidate) => candidate.package === table.package);
    if (!file) throw new Error(`the image holds no file of package ${table.package}`);
    const amendments =
      table.package === deliberate.package
        ? deliberate.facts.filter(({ key }) => !key.startsWith("package "))
        : [];
    for (const { key } of amendments) console.log(`${table.package}: deliberate: ${key}`);
    const should = amend(table, amendments);
    const found = compare(should, describe(file));
    for (const difference of found) console.log(`${table.package}: ${difference}`);
    elements += should.facts.length;
    differences += found.length;
  }
  console.log(`${differences} differences in ${elements} elements`);
  if (differences > 0) process.exitCode = 1;
}

try {
  main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
