import type { JsonObject } from "@bufbuild/protobuf";
import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentConfig } from "../../config/schema.ts";
import { BatonError, invalidParams } from "../../domain/errors.ts";
import { openwopMetadata } from "../../domain/openwop/resume-value.ts";

/** The workflow that a message starts: the one it names, else the agent's first. */
export function workflowOf(
  workflows: readonly string[],
  message: Message,
  requestMetadata: JsonObject | undefined,
): string {
  const asked = openwopMetadata(message.metadata).skillId ?? openwopMetadata(requestMetadata).skillId;
  const workflow = asked === undefined ? workflows[0] : workflows.find((id) => id === asked);
  if (workflow === undefined) {
    throw invalidParams({ field: "metadata.openwop.skillId", description: "names no skill of this agent" });
  }
  return workflow;
}

/** Refuses a send whose sender takes none of what the skill makes, before a run is made (openwop.md 2.5). */
export function requireOutputMode(
  card: AgentConfig["card"],
  skillId: string,
  accepted: readonly string[],
): void {
  if (accepted.length === 0) return;
  const skill = card.skills.find(({ id }) => id === skillId);
  const own = skill?.outputModes ?? [];
  const made = own.length > 0 ? own : card.defaultOutputModes;
  if (made.some((mode) => accepted.some((wanted) => covers(wanted, mode)))) return;
  throw new BatonError("ContentTypeNotSupported", "the skill makes none of the accepted output modes", {
    metadata: { produced: made.join(",") },
  });
}

function covers(wanted: string, mode: string): boolean {
  const range = wanted.split(";")[0]?.trim().toLowerCase() ?? "";
  const made = mode.toLowerCase();
  return range === "*/*" || range === made || (range.endsWith("/*") && made.startsWith(range.slice(0, -1)));
}
