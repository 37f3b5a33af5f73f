import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

describe("the generated code", () => {
  it("A2A-6 A2A-7 plain Node imports it and prints a task with camelCase names and the enum names of the protocol", () => {
    const program = `
      import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
      import { A2AService, TaskSchema, TaskState } from "./gen/lf/a2a/v1/a2a_pb.js";
      import { A2AService as A2AService03 } from "./gen/a2a/v1/a2a_pb.js";
      const task = create(TaskSchema, { id: "t1", contextId: "c1", status: { state: TaskState.INPUT_REQUIRED } });
      const copy = fromBinary(TaskSchema, toBinary(TaskSchema, task));
      console.log(JSON.stringify([toJson(TaskSchema, copy), A2AService.typeName, A2AService03.typeName]));
    `;
    const output = execFileSync("node", ["--input-type=module", "--eval", program], {
      cwd: root,
      encoding: "utf8",
    });
    expect(JSON.parse(output)).toEqual([
      { id: "t1", contextId: "c1", status: { state: "TASK_STATE_INPUT_REQUIRED" } },
      "lf.a2a.v1.A2AService",
      "a2a.v1.A2AService",
    ]);
  });
});

describe("the check for stale generated code", () => {
  let copy: string;

  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), "baton-generated-"));
    for (const part of ["proto", "buf.yaml", "buf.gen.yaml"])
      cpSync(join(root, part), join(copy, part), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"), "dir");
  });

  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  function generate(...args: string[]) {
    const script = join(root, "scripts/generate.mjs");
    const { status, stdout, stderr } = spawnSync("node", [script, ...args], { cwd: copy, encoding: "utf8" });
    return {
      status,
      lines: `${stdout}${stderr}`
        .trim()
        .split("\n")
        .map((line) => line.trim()),
    };
  }

  it("passes after generation, and lists what is stale, missing and left over", () => {
    const before = generate("--check");
    expect(before.lines).toContain("missing   gen/lf/a2a/v1/a2a_pb.js");
    expect(before.status).toBe(1);

    expect(generate().status).toBe(0);
    expect(generate("--check")).toEqual({ status: 0, lines: ["gen/ is what proto/ generates"] });

    appendFileSync(join(copy, "gen/lf/a2a/v1/a2a_pb.js"), "// edited\n");
    rmSync(join(copy, "gen/google/rpc/status_pb.d.ts"));
    writeFileSync(join(copy, "gen/old_pb.js"), "");
    const after = generate("--check");
    expect(after.lines.slice(1)).toEqual([
      "missing   gen/google/rpc/status_pb.d.ts",
      "stale     gen/lf/a2a/v1/a2a_pb.js",
      "leftover  gen/old_pb.js",
    ]);
    expect(after.status).toBe(1);
  });
});
