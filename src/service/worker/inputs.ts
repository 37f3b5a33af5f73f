import { hash, randomUUID } from "node:crypto";
import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import { type Artifact, type Message, Role } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Caller, Verb } from "../../domain/caller.ts";
import { BatonError, type FieldViolation, invalidParams } from "../../domain/errors.ts";
import type { Holder } from "../../store/todo-records.ts";

/** Longest lease, in milliseconds; a longer wish is clamped (SB-14). */
const MAX_LEASE_MS = 86_400_000;
/** Longest wait of a claim, in milliseconds. */
const MAX_WAIT_MS = 60_000;
const MAX_SUMMARY_BYTES = 2048;
const MAX_ARTIFACT_REF = 512;
const MAX_CLAIMANT_BYTES = 128;

export function requireVerb(caller: Caller, ...verbs: readonly Verb[]): void {
  if (verbs.some((verb) => caller.verbs.has(verb))) return;
  throw new BatonError("Forbidden", `the endpoint is not granted ${verbs.join(" or ")}`);
}

/** A queue outside the grant is Forbidden (SB-3). */
export function requireQueue(caller: Caller, queue: string): string {
  if (queue === "") {
    const [only, ...others] = caller.queues;
    if (only !== undefined && others.length === 0) return only;
    throw invalidParams({ field: "queue", description: "is required: several queues are granted" });
  }
  if (!caller.queues.includes(queue))
    throw new BatonError("Forbidden", "the endpoint is not granted that queue");
  return queue;
}

export function requireId(id: string): string {
  if (id.trim() === "") throw invalidParams({ field: "id", description: "is required" });
  return id;
}

/** The lease of a call: its own, else the endpoint's, else the server's; at most 24 h (SB-14, SB-15). */
export function leaseMs(ttl: Duration | undefined, caller: Caller, serverDefaultMs: number): number {
  const asked = ttl === undefined ? 0 : durationMs(ttl);
  if (asked > 0) return Math.min(Math.ceil(asked), MAX_LEASE_MS);
  return caller.defaultLeaseSeconds === undefined ? serverDefaultMs : caller.defaultLeaseSeconds * 1000;
}

export function waitMs(wait: Duration | undefined): number {
  return wait === undefined ? 0 : Math.min(Math.max(0, durationMs(wait)), MAX_WAIT_MS);
}

/** Control characters go, and the name is cut to 128 bytes at a character (todo-delegation.md 1.7). */
export function cleanClaimant(claimant: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
  return cutBytes(claimant.replace(/[\u0000-\u001f\u007f]/g, ""), MAX_CLAIMANT_BYTES).text;
}

export function cutSummary(summary: string): { readonly text: string; readonly cut: boolean } {
  return cutBytes(summary, MAX_SUMMARY_BYTES);
}

function cutBytes(text: string, limit: number): { readonly text: string; readonly cut: boolean } {
  if (Buffer.byteLength(text) <= limit) return { text, cut: false };
  const bytes = Buffer.from(text);
  let end = limit;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return { text: bytes.toString("utf8", 0, end), cut: true };
}

/** An https address or an `mcp://` reference of at most 512 bytes, or nothing. */
export function artifactReference(reference: string): string {
  if (reference === "") return "";
  const known =
    /^mcp:\/\/\S+$/.test(reference) || (URL.canParse(reference) && /^https:\/\/\S+$/.test(reference));
  if (!known || Buffer.byteLength(reference) > MAX_ARTIFACT_REF) {
    throw invalidParams({
      field: "artifact",
      description: "must be an https URL or an mcp:// reference of at most 512 bytes",
    });
  }
  return reference;
}

export function holderOf(caller: Caller, leaseToken: string): Holder {
  return { id: caller.id, name: caller.name, queues: caller.queues, fence: fenceHash(leaseToken) };
}

export function fenceHash(leaseToken: string): string {
  return leaseToken === "" ? "" : hash("sha256", leaseToken, "hex");
}

/** A worker's message as the agent's own: ids are filled in, the role is the agent's. */
export function agentMessage(
  message: Message | undefined,
  todo: { readonly id: string; readonly contextId?: string },
  options: { readonly required: boolean },
): Message | undefined {
  if (message === undefined) {
    if (options.required) throw invalidParams({ field: "message", description: "is required" });
    return undefined;
  }
  const violations: FieldViolation[] = [];
  if (message.parts.length === 0)
    violations.push({ field: "message.parts", description: "must hold at least one element" });
  message.parts.forEach((part, index) => {
    if (part.content.case === undefined) {
      violations.push({ field: `message.parts[${index}]`, description: "must hold text, raw, url or data" });
    }
  });
  if (message.role === Role.USER)
    violations.push({ field: "message.role", description: "must be ROLE_AGENT or unset" });
  if (violations.length > 0) throw invalidParams(...violations);
  const { messageId, contextId } = message;
  return {
    ...message,
    role: Role.AGENT,
    messageId: messageId || randomUUID(),
    taskId: todo.id,
    contextId: todo.contextId ?? contextId,
  };
}

/** An artifact with an id and at least one part (A2A-94). */
export function checkedArtifact(artifact: Artifact | undefined, field: string): Artifact {
  if (artifact === undefined) throw invalidParams({ field, description: "is required" });
  const violations: FieldViolation[] = [];
  if (artifact.parts.length === 0)
    violations.push({ field: `${field}.parts`, description: "must hold at least one element" });
  artifact.parts.forEach((part, index) => {
    if (part.content.case === undefined) {
      violations.push({ field: `${field}.parts[${index}]`, description: "must hold text, raw, url or data" });
    }
  });
  if (artifact.artifactId !== "" && artifact.artifactId.trim() === "") {
    violations.push({ field: `${field}.artifactId`, description: "must not be blank" });
  }
  if (violations.length > 0) throw invalidParams(...violations);
  return { ...artifact, artifactId: artifact.artifactId || randomUUID() };
}

/** The first text of a message, for the record of a failure. */
export function firstText(message: Message | undefined): string {
  const part = message?.parts.find(({ content }) => content.case === "text");
  return part?.content.case === "text" ? cutBytes(part.content.value, 512).text : "";
}
