import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buf } from "../../../scripts/buf.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const v1 = "test/unit/proto/facts/a2a-proto-facts.tsv";
const v03 = "test/unit/proto/facts/a2a-v03-proto-facts.tsv";

let scratch: string;
let image: string;

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "baton-facts-"));
  image = join(scratch, "image.binpb");
  buf(["build", "proto", "-o", image], root);
});

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function proveFacts(...args: string[]) {
  const { status, stdout, stderr } = spawnSync("node", ["scripts/proto-facts.ts", ...args], {
    cwd: root,
    encoding: "utf8",
  });
  return { status, lines: stdout.trim().split("\n"), stderr };
}

/** The text with one passage replaced; fails when the passage is not there exactly once. */
function replaceOnce(text: string, passage: string, by: string): string {
  expect(text.split(passage), passage).toHaveLength(2);
  return text.replace(passage, () => by);
}

function withTable(path: string, passage: string, by: string) {
  const table = join(scratch, "facts.tsv");
  writeFileSync(table, replaceOnce(readFileSync(join(root, path), "utf8"), passage, by));
  return proveFacts("--facts", table, "--image", image);
}

function withDefinition(path: string, passage: string, by: string) {
  const copy = mkdtempSync(join(scratch, "proto-"));
  for (const part of ["proto", "buf.yaml"]) cpSync(join(root, part), join(copy, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"), "dir");
  writeFileSync(join(copy, path), replaceOnce(readFileSync(join(copy, path), "utf8"), passage, by));
  const changed = join(copy, "image.binpb");
  buf(["build", "proto", "-o", changed], copy);
  return proveFacts("--image", changed);
}

describe("the definitions against the facts of the protocol", () => {
  it("A2A-146 both packages are the protocol's, but for four named additions to 0.3", () => {
    const { status, lines, stderr } = proveFacts();
    expect(stderr).toBe("");
    expect(lines).toEqual([
      "a2a.v1: deliberate: field Part.metadata",
      "a2a.v1: deliberate: field FilePart.name",
      "a2a.v1: deliberate: field AgentCard.icon_url",
      "a2a.v1: deliberate: http A2AService.CreateTaskPushNotificationConfig.binding",
      "0 differences in 538 elements",
    ]);
    expect(status).toBe(0);
  });

  it.each([
    ["number", "field\tTask\tid\t1\t", "field\tTask\tid\t9\t", "field Task.id: number is 1, should be 9"],
    [
      "type",
      "field\tTask\tcontext_id\t2\tstring",
      "field\tTask\tcontext_id\t2\tbytes",
      "field Task.context_id: type is string, should be bytes",
    ],
    [
      "label",
      "history_length\t3\tint32\toptional\thistoryLength\t\t\nfield\tSendMessageConfiguration",
      "history_length\t3\tint32\tsingular\thistoryLength\t\t\nfield\tSendMessageConfiguration",
      "field SendMessageConfiguration.history_length: label is optional, should be singular",
    ],
    [
      "A2A-6 json name",
      "field\tPart\tmedia_type\t7\tstring\tsingular\tmediaType",
      "field\tPart\tmedia_type\t7\tstring\tsingular\tmime",
      "field Part.media_type: json_name is mediaType, should be mime",
    ],
    [
      "oneof",
      "field\tPart\tfilename\t6\tstring\tsingular\tfilename\t\t",
      "field\tPart\tfilename\t6\tstring\tsingular\tfilename\tcontent\t",
      "field Part.filename: oneof is absent, should be content",
    ],
    [
      "A2A-3 behaviour",
      "singular\tprotocolBinding\t\tREQUIRED",
      "singular\tprotocolBinding\t\t",
      "field AgentInterface.protocol_binding: REQUIRED is true, should be absent",
    ],
    [
      "deprecation",
      "implicit\tflow\tdeprecated=true; type_kind",
      "implicit\tflow\ttype_kind",
      "field OAuthFlows.implicit: deprecated is true, should be absent",
    ],
    [
      "A2A-119 http path",
      "path=/{tenant}/tasks; body=-",
      "path=/{tenant}/todos; body=-",
      "http A2AService.ListTasks.additional_binding_1: path is /{tenant}/tasks, should be /{tenant}/todos",
    ],
    [
      "http body",
      "path=/message:send; body=*",
      "path=/message:send; body=message",
      "http A2AService.SendMessage.binding: body is *, should be message",
    ],
    [
      "http verb",
      "http\tA2AService.GetTask\tbinding\t0\tGET",
      "http\tA2AService.GetTask\tbinding\t0\tPOST",
      "http A2AService.GetTask.binding: type is GET, should be POST",
    ],
    [
      "method signature",
      "; method_signature=task_id,config",
      "",
      "rpc A2AService.CreateTaskPushNotificationConfig: method_signature is task_id,config, should be absent",
    ],
    [
      "A2A-7 enum number",
      "TASK_STATE_CANCELED\t5",
      "TASK_STATE_CANCELED\t6",
      "enum_value TaskState.TASK_STATE_CANCELED: number is 5, should be 6",
    ],
    [
      "file option",
      "string\t\t\t\tgoogle.golang.org/lf/a2a/v1",
      "string\t\t\t\tgoogle.golang.org/a2a",
      "file_option go_package: value is google.golang.org/lf/a2a/v1, should be google.golang.org/a2a",
    ],
    [
      "element too few",
      "enum_value\tRole\tROLE_AGENT\t2\t\t\t\t\t",
      "enum_value\tRole\tROLE_AGENT\t2\t\t\t\t\t\nenum_value\tRole\tROLE_SYSTEM\t3\t\t\t\t\t",
      "enum_value Role.ROLE_SYSTEM is missing",
    ],
    [
      "element too many",
      "import\t\tgoogle/protobuf/empty.proto\t\t\t\t\t\t\n",
      "",
      "import google/protobuf/empty.proto should not be there",
    ],
  ])("notices another %s in the table", (_, passage, by, difference) => {
    const { status, lines } = withTable(v1, passage, by);
    expect(lines.slice(0, -1)).toEqual([`lf.a2a.v1: ${difference}`]);
    expect(lines.at(-1)).toMatch(/^1 differences in \d+ elements$/);
    expect(status).toBe(1);
  });

  it("notices a json_name option that should not be written", () => {
    const { status, lines } = withTable(
      v03,
      "message\t\tjson_name=explicit; type_kind=message\nfield\tTaskStatus\ttimestamp",
      "message\t\ttype_kind=message\nfield\tTaskStatus\ttimestamp",
    );
    expect(lines).toContain("a2a.v1: field TaskStatus.update: explicit_json_name is true, should be absent");
    expect(status).toBe(1);
  });

  it.each([
    [
      "a renumbered field",
      "lf/a2a/v1/a2a.proto",
      "string token = 5;",
      "string token = 7;",
      "lf.a2a.v1: field TaskPushNotificationConfig.token: number is 7, should be 5",
    ],
    [
      "a field of our own (A2A-122)",
      "lf/a2a/v1/a2a.proto",
      "string token = 5;",
      "string token = 5; string lane = 7;",
      "lf.a2a.v1: field TaskPushNotificationConfig.lane should not be there",
    ],
    [
      "a stream that became unary",
      "lf/a2a/v1/a2a.proto",
      "rpc SubscribeToTask(SubscribeToTaskRequest) returns (stream ",
      "rpc SubscribeToTask(SubscribeToTaskRequest) returns (",
      "lf.a2a.v1: rpc A2AService.SubscribeToTask: label is unary, should be server_stream",
    ],
    [
      "a lost tenant route",
      "lf/a2a/v1/a2a.proto",
      'additional_bindings: {get: "/{tenant}/extendedAgentCard"}',
      "",
      "lf.a2a.v1: http A2AService.GetExtendedAgentCard.additional_binding_1 is missing",
    ],
    [
      "a reserved number",
      "lf/a2a/v1/a2a.proto",
      "message StringList {",
      "message StringList { reserved 5;",
      "lf.a2a.v1: message lf.a2a.v1.StringList: reserved is 5-5, should be absent",
    ],
    [
      "an option of our own",
      "lf/a2a/v1/a2a.proto",
      "string token = 5;",
      "string token = 5 [debug_redact = true];",
      "lf.a2a.v1: field TaskPushNotificationConfig.token: debug_redact is true, should be absent",
    ],
    [
      "another order",
      "lf/a2a/v1/a2a.proto",
      "ROLE_USER = 1;\n  // From the agent to the caller.\n  ROLE_AGENT = 2;",
      "ROLE_AGENT = 2;\n  ROLE_USER = 1;",
      "lf.a2a.v1: order of enum_value of Role is enum_value Role.ROLE_UNSPECIFIED, enum_value Role.ROLE_AGENT, enum_value Role.ROLE_USER, should be enum_value Role.ROLE_UNSPECIFIED, enum_value Role.ROLE_USER, enum_value Role.ROLE_AGENT",
    ],
    [
      "a deliberate addition under another number",
      "a2a/v1/a2a.proto",
      "string icon_url = 18;",
      "string icon_url = 19;",
      "a2a.v1: field AgentCard.icon_url: number is 19, should be 18",
    ],
    [
      "a fifth addition to 0.3",
      "a2a/v1/a2a.proto",
      "string icon_url = 18;",
      "string icon_url = 18; string theme = 19;",
      "a2a.v1: field AgentCard.theme should not be there",
    ],
  ])("notices %s in the definition", (_, path, passage, by, difference) => {
    const { status, lines } = withDefinition(join("proto", path), passage, by);
    expect(lines.filter((line) => !line.includes("deliberate"))).toEqual([
      difference,
      "1 differences in 538 elements",
    ]);
    expect(status).toBe(1);
  });

  it("A2A-3 61 fields of 1.0 are annotated REQUIRED", () => {
    const rows = readFileSync(join(root, v1), "utf8").split("\n");
    expect(rows.filter((row) => /^field\t.*\tREQUIRED/.test(row))).toHaveLength(61);
  });

  it("refuses a file that is not a table of facts", () => {
    const { status, stderr } = proveFacts("--facts", "package.json", "--image", image);
    expect(stderr).toContain("not a table of facts");
    expect(status).toBe(1);
  });
});
