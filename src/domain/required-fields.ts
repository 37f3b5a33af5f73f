import { type DescField, type DescMessage, getOption, type Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.js";
import type { FieldViolation } from "./errors.ts";

/**
 * Finds the fields that a request must carry and does not, from the `google.api.field_behavior` annotations of its
 * descriptor (A2A-3): an empty string, an unset message, an unspecified enum or an empty list counts as missing
 * (A2A-4). Field paths are camelCase, with list positions: `message.parts[1].content`.
 */
export function requiredFieldViolations(desc: DescMessage, message: Message): FieldViolation[] {
  const violations: FieldViolation[] = [];
  visit(reflect(desc, message), "", violations);
  return violations;
}

interface Plan {
  readonly required: readonly DescField[];
  readonly nested: readonly DescField[];
}

const plans = new WeakMap<DescMessage, Plan>();

function planOf(desc: DescMessage): Plan {
  const known = plans.get(desc);
  if (known !== undefined) return known;
  const plan = {
    required: desc.fields.filter((field) =>
      getOption(field, field_behavior).includes(FieldBehavior.REQUIRED),
    ),
    nested: desc.fields.filter((field) => nestedMessage(field) !== undefined),
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

function visit(message: ReflectMessage, path: string, violations: FieldViolation[]): void {
  const plan = planOf(message.desc);
  for (const field of plan.required) {
    if (isMissing(message, field)) {
      violations.push({ field: path + field.jsonName, description: missingText(field) });
    }
  }
  for (const field of plan.nested) {
    if (!message.isSet(field)) continue;
    if (field.fieldKind === "message") {
      visit(message.get(field), `${path}${field.jsonName}.`, violations);
    } else if (field.fieldKind === "list" && field.listKind === "message") {
      let index = 0;
      for (const item of message.get(field)) {
        visit(item as ReflectMessage, `${path}${field.jsonName}[${index}].`, violations);
        index += 1;
      }
    }
  }
}

function isMissing(message: ReflectMessage, field: DescField): boolean {
  return !message.isSet(field);
}

function missingText(field: DescField): string {
  if (field.fieldKind === "list") return "must hold at least one element";
  if (field.fieldKind === "enum") return "must be one of the defined values";
  return "is required";
}
