/** Every method of the admin services, every field, with what nobody should send: refused or done, never a fault of ours. */
import { create, type DescField, type DescMessage, type DescMethod, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AuditService } from "../../gen/baton/admin/v1/audit_pb.js";
import { EndpointService } from "../../gen/baton/admin/v1/endpoint_pb.js";
import { GrantService } from "../../gen/baton/admin/v1/grant_pb.js";
import { PushService } from "../../gen/baton/admin/v1/push_pb.js";
import { QueueService } from "../../gen/baton/admin/v1/queue_pb.js";
import { StatsService } from "../../gen/baton/admin/v1/stats_pb.js";
import { TaskService } from "../../gen/baton/admin/v1/task_pb.js";
import { TodoService } from "../../gen/baton/admin/v1/todo_pb.js";
import { isWrittenDown } from "../../src/service/admin/journal.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";

const METHODS: readonly DescMethod[] = [
  AuditService,
  EndpointService,
  GrantService,
  PushService,
  QueueService,
  StatsService,
  TaskService,
  TodoService,
].flatMap(({ methods }) => [...methods]);

const TEXTS = [
  "__proto__",
  "constructor",
  "a\u0000b",
  "\u001b[2J",
  "../..",
  "a}b{c",
  ":",
  "\ud800",
  "x".repeat(100_000),
];
const SECONDS = [-(2n ** 62n), -62_135_596_801n, -1n, 8_640_000_000_001n, 253_402_300_800n, 2n ** 62n];
const NUMBERS = [-1, 2_147_483_647, -2_147_483_648];

/** Values for one field, as far as the binary form can hold them. */
function oddValues(field: DescField): unknown[] {
  if (field.fieldKind === "enum") return [-1, 99];
  if (field.fieldKind === "list" && field.listKind === "enum") return [[-1], Array(10_000).fill(1)];
  if (field.fieldKind === "list" && field.listKind === "scalar")
    return [TEXTS, Array(10_000).fill("default")];
  if (field.fieldKind === "message") {
    const { typeName } = field.message;
    if (!/\.(Timestamp|Duration)$/.test(typeName)) return [create(field.message)];
    return SECONDS.flatMap((seconds) =>
      [0, -5, 2_147_483_647].map((nanos) => create(field.message, { seconds, nanos } as never)),
    );
  }
  if (field.fieldKind !== "scalar") return [];
  const odd = { string: TEXTS, bigint: SECONDS, number: NUMBERS, boolean: [true] };
  const zero: unknown = create(field.parent)[field.localName as never];
  return odd[typeof zero as keyof typeof odd] ?? [];
}

/** The binary form, where there is one. */
function bytesOf(schema: DescMessage, init: object): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(toBinary(schema, create(schema, init as never)));
  } catch {
    return undefined;
  }
}

describe("the admin services", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ push: { enabled: true } });
  });
  afterAll(() => gateway?.stop());

  async function post(method: DescMethod, type: string, body: string | Uint8Array<ArrayBuffer>) {
    const response = await fetch(`${gateway.adminUrl}/${method.parent.typeName}/${method.name}`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.adminToken}`, "content-type": type },
      body,
    });
    const text = await response.text();
    return { status: response.status, text };
  }

  /** How many actions of a method are in the audit. */
  async function writtenDown(method: DescMethod): Promise<number> {
    const request = JSON.stringify({ action: `${method.parent.typeName}/${method.name}`, pageSize: 500 });
    const { text } = await post(AuditService.method.listAuditEntries, "application/json", request);
    return (JSON.parse(text) as { entries?: unknown[] }).entries?.length ?? 0;
  }

  it.each(METHODS.map((method) => [`${method.parent.name}.${method.name}`, method] as const))(
    "%s has an answer to every odd value of every field, in both forms, and tries are in the audit",
    async (_, method) => {
      const known = Object.fromEntries(
        method.input.fields
          .filter(({ localName }) => localName === "id")
          .map(({ localName }) => [localName, "x"]),
      );
      let calls = 0;
      for (const field of method.input.fields) {
        for (const value of oddValues(field)) {
          const shown = () =>
            `${field.localName}: ${String(JSON.stringify(value, (__, v) => String(v))).slice(0, 80)}`;
          const init = { ...known, [field.localName]: value };
          const bytes = bytesOf(method.input, init);
          if (bytes !== undefined) {
            const { status, text } = await post(method, "application/proto", bytes);
            expect([status < 500, status < 500 ? "" : text], shown()).toEqual([true, ""]);
            calls++;
          }
          if (typeof value === "string" || typeof value === "number") {
            const { status, text } = await post(method, "application/json", JSON.stringify(init));
            expect([status < 500, status < 500 ? "" : text], `JSON ${shown()}`).toEqual([true, ""]);
          }
        }
      }
      for (const raw of ["", "[]", "null", '{"id":{}}', '{"__proto__":{"id":"x"}}', "[".repeat(50_000)]) {
        expect((await post(method, "application/json", raw)).status, raw.slice(0, 20)).toBeLessThan(500);
      }
      for (const raw of [[0xff], [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f], [0x0a, 2, 0xc3, 0x28]]) {
        expect((await post(method, "application/proto", Uint8Array.from(raw))).status).toBeLessThan(500);
      }
      if (isWrittenDown(method))
        expect(await writtenDown(method)).toBeGreaterThanOrEqual(Math.min(500, calls));
    },
    30_000,
  );

  it("answer as before afterwards, in the JSON form too", async () => {
    const reads = METHODS.filter((method) => /^(List|Search|GetStats|GetPushStatus)/.test(method.name));
    for (const method of reads) {
      expect([method.name, (await post(method, "application/json", "{}")).status]).toEqual([
        method.name,
        200,
      ]);
    }
  });
});
