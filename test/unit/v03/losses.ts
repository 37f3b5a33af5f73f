import { readFileSync } from "node:fs";
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";

export type Dialect = "kind" | "proto";

/** One row of the table "What 0.3 cannot express" in docs/a2a-0.3.md. */
export interface Loss {
  readonly text: string;
  readonly message: string;
  /** Absent: whole elements of this type. */
  readonly field: string | undefined;
  readonly dialects: readonly Dialect[];
  /** A field or oneof and its values; absent: always. */
  readonly when: { readonly name: string; readonly values: readonly string[] } | undefined;
  readonly effect: "dropped" | "default is absent";
}

/** Reads the table. Throws an Error for a row that it does not understand. */
export function documentedLosses(): Loss[] {
  const page = readFileSync(new URL("../../../docs/a2a-0.3.md", import.meta.url), "utf8");
  const section = page.split("## What 0.3 cannot express")[1] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((text) => {
    const [subject = "", dialects = "", when = "", effect = ""] = text
      .split("|")
      .slice(1)
      .map((cell) => cell.trim());
    const [, message, field] = /^`(\w+)(?:\.(\w+))?`$/.exec(subject) ?? [];
    const [, name, values] = /^`(\w+)` is ((?:`[^`]+`(?:, )?)+)$/.exec(when) ?? [];
    if (message === undefined || (when !== "always" && name === undefined)) throw new Error(`row: ${text}`);
    if (effect !== "dropped" && effect !== "default is absent") throw new Error(`row: ${text}`);
    return {
      text,
      message,
      field,
      dialects: dialects.split(", ") as Dialect[],
      when: name === undefined ? undefined : { name, values: (values ?? "").replaceAll("`", "").split(", ") },
      effect,
    };
  });
}

/** Takes from a message, in place, what the rows say that a dialect of 0.3 cannot express. */
export function applyLosses(desc: DescMessage, message: Message, losses: readonly Loss[]): void {
  visit(reflect(desc, message), losses);
}

function visit(message: ReflectMessage, losses: readonly Loss[]): void {
  for (const loss of losses) applyTo(message, loss);
  for (const field of message.desc.fields) {
    if (field.message === undefined || !message.isSet(field)) continue;
    if (field.message.typeName.startsWith("google.protobuf.")) continue;
    if (field.fieldKind === "list") dropElements(message, field, losses);
    for (const child of childrenOf(message, field)) visit(child, losses);
  }
}

function childrenOf(message: ReflectMessage, field: DescField): ReflectMessage[] {
  if (field.fieldKind === "message") return [message.get(field)];
  if (field.fieldKind === "list") return [...message.get(field)] as ReflectMessage[];
  if (field.fieldKind === "map") return [...message.get(field).values()] as ReflectMessage[];
  return [];
}

function holds(message: ReflectMessage, { when }: Loss): boolean {
  if (when === undefined) return true;
  const oneof = message.oneofs.find(({ name }) => name === when.name);
  if (oneof !== undefined) return when.values.includes(message.oneofCase(oneof)?.name ?? "");
  const field = message.desc.fields.find(({ name }) => name === when.name);
  return field !== undefined && when.values.includes(String(message.get(field)));
}

function applyTo(message: ReflectMessage, loss: Loss): void {
  if (loss.field === undefined || message.desc.name !== loss.message || !holds(message, loss)) return;
  const field = message.desc.fields.find(({ name }) => name === loss.field);
  if (field === undefined) throw new Error(`no such field: ${loss.text}`);
  if (!message.isSet(field)) return;
  const value = message.get(field);
  // A Struct that is a field is held as a plain object.
  const isStruct = field.message?.typeName === "google.protobuf.Struct";
  const held = (message.message as unknown as Record<string, unknown>)[field.localName];
  const emptyObject = isStruct && Object.keys(held as object).length === 0;
  const isDefault = value === false || value === 0 || value === "" || emptyObject;
  if (loss.effect === "dropped" || isDefault) message.clear(field);
}

function dropElements(message: ReflectMessage, field: DescField, losses: readonly Loss[]): void {
  if (field.fieldKind !== "list" || field.listKind !== "message") return;
  const rows = losses.filter((loss) => loss.field === undefined && loss.message === field.message.name);
  if (rows.length === 0) return;
  const list = message.get(field);
  const kept = [...list].filter((each) => !rows.some((row) => holds(each as ReflectMessage, row)));
  list.clear();
  for (const each of kept) list.add(each);
}
