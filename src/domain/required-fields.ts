import { type DescField, type DescMessage, getOption, isFieldSet, type Message } from "@bufbuild/protobuf";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.js";
import type { FieldViolation } from "./errors.ts";

/**
 * Finds the fields that a request must carry and does not, from the `google.api.field_behavior` annotations of its
 * descriptor (A2A-3): an empty string, an unset message, an unspecified enum or an empty list counts as missing
 * (A2A-4). Field paths are camelCase, with list positions: `message.parts[1].content`.
 */
export function requiredFieldViolations(desc: DescMessage, message: Message): FieldViolation[] {
  const violations: FieldViolation[] = [];
  visit(desc, message, "", violations);
  return violations;
}

interface Plan {
  readonly required: readonly DescField[];
  readonly nested: readonly { readonly field: DescField; readonly nested: DescMessage }[];
}

const plans = new WeakMap<DescMessage, Plan>();

function planOf(desc: DescMessage): Plan {
  const known = plans.get(desc);
  if (known !== undefined) return known;
  const plan = {
    required: desc.fields.filter((field) =>
      getOption(field, field_behavior).includes(FieldBehavior.REQUIRED),
    ),
    nested: desc.fields.flatMap((field) => {
      const nested = nestedMessage(field);
      return nested === undefined ? [] : [{ field, nested }];
    }),
  };
  plans.set(desc, plan);
  return plan;
}

/** Messages of our own packages only: the well-known types carry no annotations and may be deep. */
function nestedMessage(field: DescField): DescMessage | undefined {
  const isMessage =
    field.fieldKind === "message" || (field.fieldKind === "list" && field.listKind === "message");
  if (!isMessage || field.message === undefined) return undefined;
  return field.message.typeName.startsWith("google.protobuf.") ? undefined : field.message;
}

function visit(desc: DescMessage, message: Message, path: string, violations: FieldViolation[]): void {
  const plan = planOf(desc);
  for (const field of plan.required) {
    if (!isFieldSet(message, field)) {
      violations.push({ field: path + field.jsonName, description: missingText(field) });
    }
  }
  for (const { field, nested } of plan.nested) {
    if (!isFieldSet(message, field)) continue;
    const value = fieldValue(message, field);
    if (!Array.isArray(value)) visit(nested, value as Message, `${path}${field.jsonName}.`, violations);
    else {
      let index = 0;
      for (const item of value) {
        visit(nested, item as Message, `${path}${field.jsonName}[${index}].`, violations);
        index += 1;
      }
    }
  }
}

/** Fields of a generated message are its properties by local name, those of a oneof one property for all. */
function fieldValue(message: Message, field: DescField): unknown {
  const fields = message as Message & Readonly<Record<string, unknown>>;
  if (field.oneof === undefined) return fields[field.localName];
  return (fields[field.oneof.localName] as { readonly value?: unknown }).value;
}

function missingText(field: DescField): string {
  if (field.fieldKind === "list") return "must hold at least one element";
  if (field.fieldKind === "enum") return "must be one of the defined values";
  return "is required";
}
