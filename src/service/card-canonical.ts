import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import canonicalize from "canonicalize";

/**
 * The bytes that a card signature covers: RFC 8785 over the card without its signatures (A2A-184). Two forms are about.
 * The protocol's keeps REQUIRED members although they are empty; the official SDKs leave out everything empty, at any
 * depth (A2A-186). `card` is the 1.0 card as ProtoJSON prints it, which follows the presence rules of the protocol.
 */
export function canonicalForms(card: JsonObject): readonly Uint8Array[] {
  const { signatures: _, ...signed } = card;
  const forms = [canonical(signed), canonical(withoutEmpty(signed) ?? {})];
  return [...new Set(forms)].map((text) => new TextEncoder().encode(text));
}

/** RFC 8785. Throws for what JSON cannot say: non-finite numbers, lone surrogates. */
export function canonical(value: JsonValue): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error("the value has no JSON form");
  return text;
}

function withoutEmpty(value: JsonValue): JsonValue | undefined {
  if (value === "" || value === null) return undefined;
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  if (typeof value !== "object") return value;
  const members = Object.entries(value).flatMap(([key, member]): [string, JsonValue][] => {
    const kept = withoutEmpty(member);
    return kept === undefined ? [] : [[key, kept]];
  });
  // fromEntries defines members, so that a key `__proto__` stays data.
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
