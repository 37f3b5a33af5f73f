/** What the JSON of both dialects of 0.3 has in common. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** One member, where there is a value. */
export function renamed(name: string, value: JsonValue | undefined): JsonObject {
  return value === undefined ? {} : { [name]: value };
}

/** Data that is no object travels inside one, under a flag (A2A-165). */
export function wrapped(data: JsonValue, metadata: JsonValue | undefined): JsonObject {
  if (isObject(data)) return { data, ...renamed("metadata", metadata) };
  const others = isObject(metadata) ? metadata : {};
  return { data: { value: data }, metadata: { ...others, data_part_compat: true } };
}

/** The other way: data and metadata of 1.0. */
export function unwrapped(data: JsonObject, metadata: JsonValue | undefined): JsonObject {
  if (!isObject(metadata) || metadata.data_part_compat !== true)
    return { data, ...renamed("metadata", metadata) };
  const { data_part_compat: _, ...rest } = metadata;
  return { data: data.value ?? null, ...(Object.keys(rest).length === 0 ? {} : { metadata: rest }) };
}

/** States after which a stream has nothing more to say (A2A-163). */
const FINAL: readonly JsonValue[] = [
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_REJECTED",
  "TASK_STATE_INPUT_REQUIRED",
];

/** `final` follows from the state, which is all that 1.0 has. */
export function checkFinal(final: JsonValue | undefined, state: JsonValue | undefined): void {
  expect(final, `A2A-163 final on ${String(state)}`).toBe(FINAL.includes(state ?? ""));
}

/**
 * The card of 0.3 as far as the table looks at an extended card: who it is, what it can do, and where it is spoken to.
 */
export function cardOf(card: JsonObject): JsonObject {
  expect(String(card.protocolVersion)).toMatch(/^0\.3\.\d+$/);
  const {
    name,
    description,
    version,
    url,
    capabilities,
    skills,
    defaultInputModes = [],
    defaultOutputModes = [],
  } = card;
  for (const [member, value] of Object.entries({ name, description, version, url })) {
    expect(value, `${member} is required on a card of 0.3`).toEqual(expect.any(String));
  }
  const preferred = { url: url ?? "", transport: card.preferredTransport ?? "JSONRPC" };
  return {
    ...renamed("name", name),
    ...renamed("description", description),
    ...renamed("version", version),
    supportedInterfaces: [preferred, ...((card.additionalInterfaces ?? []) as JsonObject[])].map((each) => ({
      url: each.url ?? "",
      protocolBinding: each.transport ?? "",
      protocolVersion: "0.3",
    })),
    ...(isObject(capabilities) ? { capabilities } : {}),
    skills: ((skills ?? []) as JsonObject[]).map(({ security: _, ...skill }) => skill),
    defaultInputModes,
    defaultOutputModes,
  };
}
