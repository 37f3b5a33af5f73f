/** JSON that is nearly right: requests as clients send them, bent in one or a few places, then perhaps broken as text. */
import type { JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";

const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

/** Pieces of JSON text that parsers stumble over. */
const ODD_TEXTS = [
  "null",
  "true",
  "0",
  "-0",
  "1.5",
  "1e400",
  "-1e400",
  "1e-400",
  "9007199254740993",
  "123456789012345678901234567890",
  "2147483648",
  '""',
  '" "',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\ufeff"',
  '"TASK_STATE_WORKING"',
  '"ROLE_USER"',
  '"ROLE_NOBODY"',
  '"1"',
  '"2025-01-01T00:00:00Z"',
  '"2025-02-30T25:61:61Z"',
  '"9999-12-31T23:59:60+99:99"',
  '"aGk="',
  '"nope"',
  "[]",
  "{}",
  "[null]",
  "[[]]",
  '{"":{}}',
  '{"a":1,"a":2}',
  '{"__proto__":{"x":1}}',
  '{"constructor":null}',
  '{"text":"a","data":1}',
  '{"text":"a","raw":"!!"}',
  '{"kind":"file","file":{"bytes":"aGk=","uri":"x"}}',
  '{"kind":"data","data":null}',
  '{"data":null}',
  '{"seconds":1}',
  nested(31),
  nested(70),
  nested(2000),
  `{"a":${nested(29)}}`,
  `"${"x".repeat(5000)}"`,
] as const;

const ODD_NAMES = [
  "message",
  "message_id",
  "messageId",
  "task_id",
  "taskId",
  "contextId",
  "role",
  "parts",
  "content",
  "kind",
  "file",
  "data",
  "metadata",
  "extensions",
  "configuration",
  "historyLength",
  "history_length",
  "pageSize",
  "status",
  "tenant",
  "id",
  "name",
  "pushNotificationConfig",
  "taskPushNotificationConfig",
  "url",
  "token",
  "authentication",
  "schemes",
  "__proto__",
  "constructor",
  "toString",
  "",
] as const;

/** One change of a document. Numbers choose places and pieces; they are taken modulo what there is. */
export interface Bend {
  readonly kind: "replace" | "remove" | "add" | "duplicate";
  readonly at: number;
  readonly with: number;
  readonly name: number;
}

const bend: fc.Arbitrary<Bend> = fc.record({
  kind: fc.constantFrom("replace", "remove", "add", "duplicate"),
  at: fc.nat(1000),
  with: fc.nat(1000),
  name: fc.nat(1000),
});

/** A change of the text itself. */
export interface Cut {
  readonly kind: "truncate" | "insert" | "drop" | "flip";
  readonly at: number;
  readonly byte: number;
}

const cut: fc.Arbitrary<Cut> = fc.record({
  kind: fc.constantFrom("truncate", "insert", "drop", "flip"),
  at: fc.nat(100_000),
  byte: fc.nat(255),
});

/** Bends a seed a few times, and breaks its text in a fifth of the cases. */
export function bentJson(seeds: readonly JsonValue[]): fc.Arbitrary<Buffer> {
  return fc
    .record({
      seed: fc.nat(seeds.length - 1),
      bends: fc.array(bend, { maxLength: 3 }),
      cuts: fc.oneof(
        { weight: 4, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(cut, { minLength: 1, maxLength: 2 }) },
      ),
    })
    .map(({ seed, bends, cuts }) => {
      let text = JSON.stringify(seeds[seed]);
      for (const each of bends) text = applyBend(text, each);
      return applyCuts(Buffer.from(text), cuts);
    });
}

export function applyCuts(bytes: Buffer, cuts: readonly Cut[]): Buffer {
  let data = bytes;
  for (const { kind, at, byte } of cuts) {
    const index = at % (data.length + 1);
    if (kind === "truncate") data = data.subarray(0, index);
    else if (kind === "insert")
      data = Buffer.concat([data.subarray(0, index), Buffer.from([byte]), data.subarray(index)]);
    else if (kind === "drop") data = Buffer.concat([data.subarray(0, index), data.subarray(index + 1)]);
    else if (index < data.length) {
      data = Buffer.from(data);
      data[index] = (data[index] ?? 0) ^ (1 << (byte % 8));
    }
  }
  return data;
}

/** Where values stand in a JSON text: found by its tokens, so that what was bent before can be bent again. */
function valuesOf(text: string): [start: number, end: number][] {
  const spans: [number, number][] = [];
  const opened: number[] = [];
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i];
    if (char === '"') {
      let end = i + 1;
      while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
      if (text[end + 1] !== ":") spans.push([i, end + 1]);
      i = end;
    } else if (char === "{" || char === "[") opened.push(i);
    else if (char === "}" || char === "]") spans.push([opened.pop() ?? 0, i + 1]);
    else if (char !== undefined && /[-\dtfn]/.test(char)) {
      let end = i + 1;
      while (end < text.length && !/[,}\]]/.test(text[end] ?? "")) end += 1;
      spans.push([i, end]);
      i = end - 1;
    }
    if (spans.length > 400) break;
  }
  return spans;
}

function pick<T>(list: readonly T[], index: number): T | undefined {
  return list[index % Math.max(1, list.length)];
}

function applyBend(text: string, { kind, at, with: piece, name }: Bend): string {
  const [start, end] = pick(valuesOf(text), at) ?? [0, 0];
  const odd = pick(ODD_TEXTS, piece) ?? "null";
  const named = JSON.stringify(pick(ODD_NAMES, name));
  const value = text.slice(start, end);
  switch (kind) {
    case "replace":
      return text.slice(0, start) + odd + text.slice(end);
    case "remove":
      return text.slice(0, start) + text.slice(end).replace(/^,/, "");
    case "add":
      if (value.startsWith("{"))
        return `${text.slice(0, start)}{${named}:${odd}${value === "{}" ? "" : ","}${text.slice(start + 1)}`;
      if (value.startsWith("["))
        return `${text.slice(0, start)}[${odd}${value === "[]" ? "" : ","}${text.slice(start + 1)}`;
      return `${text.slice(0, start)}{${named}:${value}}${text.slice(end)}`;
    case "duplicate":
      if (value.startsWith("{") && value !== "{}")
        return `${text.slice(0, start)}{${value.slice(1, -1)},${text.slice(start + 1)}`;
      return `${text.slice(0, start)}[${value},${value}]${text.slice(end)}`;
  }
}
