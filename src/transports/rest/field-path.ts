import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Resolves `a.b` in either spelling; every step but the last is a message of its own. */
export function resolveField(desc: DescMessage, path: string): readonly DescField[] | undefined {
  const chain: DescField[] = [];
  let at: DescMessage | undefined = desc;
  for (const name of path.split(".")) {
    const field: DescField | undefined = at?.fields.find(
      (each) => each.name === name || each.jsonName === name,
    );
    if (field === undefined) return undefined;
    chain.push(field);
    at = field.fieldKind === "message" ? field.message : undefined;
  }
  return chain;
}

/** The path as errors show it. */
export function jsonPath(chain: readonly DescField[]): string {
  return chain.map(({ jsonName }) => jsonName).join(".");
}

/** Reads the value at a path, under either spelling. */
export function getAt(json: JsonObject, chain: readonly DescField[]): JsonValue | undefined {
  let value: JsonValue | undefined = json;
  for (const field of chain) {
    if (!isObject(value)) return undefined;
    value = own(value, field.jsonName) ?? own(value, field.name);
  }
  return value;
}

/** Writes the value at a path, making the objects on the way. */
export function setAt(json: JsonObject, chain: readonly DescField[], value: JsonValue): void {
  let target = json;
  for (const [index, field] of chain.entries()) {
    const present = own(target, field.jsonName) ?? own(target, field.name);
    if (field.name !== field.jsonName) delete target[field.name];
    if (index === chain.length - 1) {
      target[field.jsonName] = value;
      return;
    }
    const next: JsonObject = isObject(present) ? present : {};
    target[field.jsonName] = next;
    target = next;
  }
}

function own(json: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(json, name) ? json[name] : undefined;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
