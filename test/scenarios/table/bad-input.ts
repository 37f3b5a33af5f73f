/** What a request must hold, and what happens to one that does not. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { ErrorKind } from "../../../src/domain/errors.ts";
import { message } from "../actors.ts";
import { type Scenario, type ScenarioOptions, scenario } from "../scenario.ts";

/** A message that is refused on SendMessage with the named fields, and leaves nothing behind. */
function refusedMessage(
  name: string,
  content: () => JsonObject,
  fields: readonly string[],
  options?: ScenarioOptions,
): Scenario {
  return scenario(
    name,
    async ({ alice, refused, has }) => {
      await refused(alice.start(content()), "InvalidParams", { fields });
      if (has("list")) expect((await alice.list()).totalSize).toBe(0);
    },
    options,
  );
}

const json: ScenarioOptions = { needs: ["json"], versions: ["1.0"] };

/** JSON that is no request message; what exactly is wrong is up to the parser, so fields are not compared. */
function refusedJson(name: string, request: () => JsonObject, kind: ErrorKind = "InvalidParams"): Scenario {
  return scenario(
    name,
    async ({ alice, refused, has }) => {
      const seen = await refused(alice.call("SendMessage", request()), kind);
      expect(seen.violations.length, "A2A-2 the field is named").toBeGreaterThan(0);
      if (has("list")) expect((await alice.list()).totalSize).toBe(0);
    },
    json,
  );
}

const now = { configuration: { returnImmediately: true } };
const nested = (depth: number): JsonObject => {
  let value: JsonObject = {};
  for (let level = 0; level < depth; level += 1) value = { in: value };
  return value;
};

export const BAD_INPUT: readonly Scenario[] = [
  refusedMessage(
    "A2A-43 A2A-3 a message without messageId is InvalidParams",
    () => message("x", { messageId: "" }),
    ["message.messageId"],
  ),
  refusedMessage("A2A-56 a blank messageId is InvalidParams", () => message("x", { messageId: " \t" }), [
    "message.messageId",
  ]),
  refusedMessage(
    "A2A-56 an over-long messageId is InvalidParams",
    () => message("x", { messageId: "m".repeat(129) }),
    ["message.messageId"],
  ),
  refusedMessage("A2A-4 A2A-3 a message without parts is InvalidParams", () => message("", { parts: [] }), [
    "message.parts",
  ]),
  refusedMessage(
    "A2A-2 a part without content is InvalidParams",
    () => message("", { parts: [{ text: "a" }, { filename: "b" }] }),
    ["message.parts[1]"],
  ),
  refusedMessage(
    "A2A-42 a message of the agent's role is InvalidParams",
    () => message("x", { role: "ROLE_AGENT" }),
    ["message.role"],
  ),
  refusedMessage(
    "A2A-3 a message without a role is InvalidParams",
    () => {
      const { role: _, ...rest } = message("x");
      return rest;
    },
    ["message.role"],
    { versions: ["1.0"] },
  ),
  refusedMessage(
    "A2A-42 a role that is no role is InvalidParams",
    () => message("x", { role: 7 }),
    ["message.role"],
    {
      versions: ["1.0"],
    },
  ),
  refusedMessage(
    "A2A-56 FR-11 a blank taskId is InvalidParams and starts nothing",
    () => message("x", { taskId: "   " }),
    ["message.taskId"],
  ),
  refusedMessage("A2A-56 FR-11 a blank contextId is InvalidParams", () => message("x", { contextId: " " }), [
    "message.contextId",
  ]),
  refusedMessage(
    "A2A-56 an over-long contextId is InvalidParams",
    () => message("x", { contextId: "c".repeat(1000) }),
    ["message.contextId"],
  ),
  refusedMessage(
    "A2A-2 several wrong fields are all named at once",
    () => message("x", { taskId: " ", contextId: " ", parts: [{ filename: "f" }] }),
    ["message.taskId", "message.contextId", "message.parts[0]"],
    { needs: ["error-data"] },
  ),

  scenario(
    "A2A-3 a send without a message is InvalidParams",
    async ({ alice, refused }) => {
      await refused(alice.call("SendMessage", now), "InvalidParams", { fields: ["message"] });
    },
    { versions: ["1.0"] },
  ),

  scenario("SB-3 metadata.queue that is no text is InvalidParams", async ({ alice, refused }) => {
    await refused(alice.start("x", { metadata: { queue: 7 } }), "InvalidParams", {
      fields: ["metadata.queue"],
    });
  }),

  scenario(
    "SB-21 an idempotency key that is no text of 1 to 255 characters is InvalidParams",
    async ({ alice, refused }) => {
      for (const idempotencyKey of ["", 7, "k".repeat(256)]) {
        await refused(alice.start("x", { metadata: { idempotencyKey } }), "InvalidParams", {
          fields: ["metadata.idempotencyKey"],
        });
      }
    },
  ),

  refusedJson("A2A-2 a field of the wrong type is InvalidParams", () => ({
    message: message("x", { messageId: 7 }),
    ...now,
  })),
  refusedJson("A2A-2 a message that is a text is InvalidParams", () => ({ message: "hello", ...now })),
  refusedJson("A2A-2 parts that are no list are InvalidParams", () => ({
    message: message("", { parts: { text: "x" } }),
    ...now,
  })),
  refusedJson("A2A-2 null in a list is InvalidParams", () => ({
    message: message("", { parts: [null] }),
    ...now,
  })),
  refusedJson("A2A-7 A2A-42 an unknown role name is InvalidParams", () => ({
    message: message("x", { role: "user" }),
    ...now,
  })),
  refusedJson("A2A-2 a part with two contents is InvalidParams", () => ({
    message: message("", { parts: [{ text: "a", data: 1 }] }),
    ...now,
  })),
  refusedJson("A2A-2 one field in both spellings is InvalidParams", () => ({
    message: message("x", { message_id: "also" }),
    ...now,
  })),
  refusedJson("A2A-2 bytes that are no base64 are InvalidParams", () => ({
    message: message("", { parts: [{ raw: "!!!" }] }),
    ...now,
  })),
  refusedJson("A2A-2 a text with half a surrogate pair is InvalidParams", () => ({
    message: message("\ud800"),
    ...now,
  })),
  refusedJson("A2A-13 a value nested beyond the limit is InvalidParams", () => ({
    message: message("", { parts: [{ data: nested(300) }] }),
    ...now,
  })),

  scenario(
    "A2A-5 FR-5 unknown fields are ignored at every depth",
    async ({ alice }) => {
      const { message: answer } = await alice.call("SendMessage", {
        message: { ...message(""), parts: [{ text: "hello", hue: "red" }], mood: 1 },
        configuration: { returnImmediately: true, shiny: true },
        later: { x: [1] },
      });
      expect(answer.payload.case).toBe("task");
    },
    json,
  ),

  scenario(
    "FR-7 numbers for enums and names of the proto are understood",
    async ({ alice }) => {
      const { message_id, ...content } = {
        message_id: message("").messageId ?? "",
        role: 1,
        parts: [{ text: "x", media_type: "text/plain" }],
      };
      const { message: answer } = await alice.call("SendMessage", {
        message: { message_id, ...content },
        configuration: { return_immediately: true },
      });
      if (answer.payload.case !== "task") throw new Error("no task");
      expect(answer.payload.value.history[0]?.messageId).toBe(message_id);
    },
    json,
  ),

  scenario("FR-1 null, nested nulls and an empty object are values and come back", async ({ alice }) => {
    const parts = [{ data: null }, { data: { a: null, b: [null, 1] } }, { data: {} }];
    const { id } = await alice.start(message("", { parts, metadata: { x: null } }), { metadata: { y: {} } });
    const [stored] = (await alice.get(id, { historyLength: 1 })).history;
    expect(stored?.parts.map(({ content }) => content.case)).toEqual(["data", "data", "data"]);
    expect(stored?.metadata).toEqual({ x: null });
    const { json: seen } = await alice.call("GetTask", { id });
    if (seen !== undefined) {
      const [first] = (seen as { history: { parts: JsonObject[] }[] }).history;
      expect(first?.parts).toEqual(parts);
    }
  }),

  scenario("FR-9 empty structs round-trip", async ({ alice }) => {
    const { id } = await alice.start(message("", { parts: [{ data: {} }], metadata: {} }), { metadata: {} });
    const [stored] = (await alice.get(id)).history;
    expect(stored?.parts[0]?.content.case).toBe("data");
  }),

  scenario("A2A-128 text of every kind comes back as it was", async ({ alice }) => {
    const text = 'Ünï¢ødé 漢字 🎉 \u0000\u0001\u2028 "\\ \r\n\t end';
    const { id } = await alice.start(message(text));
    expect((await alice.get(id)).history[0]?.parts[0]?.content.value).toBe(text);
  }),

  scenario("A2A-2 raw bytes come back as they were", async ({ alice }) => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const { id } = await alice.start(
      message("", { parts: [{ raw: bytes.toString("base64"), filename: "all.bin" }] }),
    );
    const [part] = (await alice.get(id)).history[0]?.parts ?? [];
    expect(Buffer.from(part?.content.value as Uint8Array)).toEqual(bytes);
    expect(part?.filename).toBe("all.bin");
  }),

  scenario("A2A-13 SB-53 a body of exactly 262144 bytes is accepted", async ({ alice, driver, kind }) => {
    const request = padded(262_144, (body) => driver.sizeOf("SendMessage", body));
    expect(driver.sizeOf("SendMessage", request)).toBe(262_144);
    const { message: answer } = await alice.call("SendMessage", request);
    if (answer.payload.case !== "task") throw new Error("no task");
    expect(answer.payload.value.status?.state, kind.name).toBe(TaskState.SUBMITTED);
  }),

  scenario(
    "A2A-13 SB-53 a body of 262145 bytes is PayloadTooLarge and creates nothing",
    async ({ alice, driver, refused, has }) => {
      const request = padded(262_145, (body) => driver.sizeOf("SendMessage", body));
      expect(driver.sizeOf("SendMessage", request)).toBe(262_145);
      await refused(alice.call("SendMessage", request), "PayloadTooLarge");
      if (has("list")) expect((await alice.list()).totalSize).toBe(0);
    },
  ),

  scenario("A2A-130 an unknown method is MethodNotFound", async ({ alice, driver, kind, refused }) => {
    const expected = kind.name.startsWith("rest") ? "RouteNotFound" : "MethodNotFound";
    await refused(driver.malformed("unknown-method", alice.options), expected, { bare: true });
  }),

  scenario(
    "A2A-130 a body that is not of the transport's encoding is a parse error",
    async ({ alice, driver, kind, refused }) => {
      const bare = !/^(jsonrpc|rest)\b/.test(kind.name);
      const seen = await refused(driver.malformed("garbage", alice.options), "ParseError", { bare });
      expect(seen.message).not.toBe("");
    },
  ),

  scenario(
    "A2A-126 FR-62 a media type that is not JSON is ContentTypeNotSupported",
    async ({ alice, driver, refused }) => {
      await refused(driver.malformed("content-type", alice.options), "ContentTypeNotSupported");
    },
    { needs: ["path-tenant"] },
  ),

  scenario(
    "A2A-8 A2A-9 a request that is unreadable and unauthenticated is Unauthenticated",
    async ({ alice, driver, refused }) => {
      await refused(driver.malformed("garbage", { ...alice.options, token: null }), "Unauthenticated", {
        bare: true,
      });
    },
  ),
];

/** A send whose body has exactly `size` bytes by the driver's count. */
function padded(size: number, sizeOf: (body: JsonObject) => number): JsonObject {
  const content = message("");
  const withPad = (length: number): JsonObject => ({
    message: { ...content, parts: [{ text: "x".repeat(length) }] },
    ...now,
  });
  let length = size - sizeOf(withPad(0));
  // Lengths before the text are of variable size in binary form.
  for (let round = 0; round < 4; round += 1) length += size - sizeOf(withPad(length));
  return withPad(length);
}
