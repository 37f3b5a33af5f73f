import { type JsonObject, toBinary } from "@bufbuild/protobuf";
import { type Message, MessageSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentConfig } from "../../config/schema.ts";
import { invalidParams } from "../../domain/errors.ts";

/** Longest `metadata.kind`, and longest `metadata.assignee`, in bytes. */
const MAX_LABEL_BYTES = 128;

/** A label of a todo from the metadata of its message; empty where there is none. Throws InvalidParams. */
export function labelOf(metadata: JsonObject | undefined, name: "kind" | "assignee"): string {
  const label = metadata?.[name];
  if (label === undefined) return "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  const clean = typeof label === "string" && label.trim() !== "" && !/[\u0000-\u001f\u007f]/.test(label);
  if (clean && Buffer.byteLength(label) <= MAX_LABEL_BYTES) return label;
  throw invalidParams({
    field: `metadata.${name}`,
    description: `must be a line of 1 to ${MAX_LABEL_BYTES} bytes`,
  });
}

/** Why an agent does not take work in, or undefined where it does (SB-8). */
export function intakeRefusal(
  policy: AgentConfig["intake"],
  work: { readonly message: Message; readonly kind: string },
): string | undefined {
  const { maxPayloadBytes, kinds, deniedKinds } = policy;
  const unknown = kinds !== undefined && !kinds.includes(work.kind);
  if (unknown || deniedKinds.includes(work.kind)) {
    return work.kind === ""
      ? "This agent takes only work that says of what kind it is."
      : `This agent takes no work of the kind ${work.kind}.`;
  }
  if (maxPayloadBytes === undefined) return undefined;
  const bytes = toBinary(MessageSchema, work.message).length;
  if (bytes <= maxPayloadBytes) return undefined;
  return `The message has ${bytes} bytes; this agent takes at most ${maxPayloadBytes}.`;
}
