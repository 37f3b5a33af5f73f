import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Caller } from "../domain/caller.ts";
import { BatonError, invalidParams, pushConfigNotFound, taskNotFound } from "../domain/errors.ts";
import type { RequestMeta } from "./call.ts";

/**
 * The agent that a request is for (A2A-17). Path and message must agree; an unknown agent is never another agent's
 * data; a credential of another agent is refused before anything runs (SB-2).
 */
export function addressedAgent(
  method: DescMethod,
  request: Message,
  meta: RequestMeta,
  caller: Caller,
  hasAgent: (name: string) => boolean,
): string {
  const named = (request as Message & { tenant?: unknown }).tenant;
  const inMessage = typeof named === "string" ? named : "";
  const inPath = meta.pathTenant ?? "";
  if (inPath !== "" && !hasAgent(inPath)) throw new BatonError("RouteNotFound", "no such agent");
  if (inMessage !== "" && inPath !== "" && inMessage !== inPath) {
    throw invalidParams({ field: "tenant", description: "differs from the tenant in the path" });
  }
  const tenant = inMessage || inPath || caller.agent;
  if (!hasAgent(tenant)) {
    const id = taskIdOf(request);
    if (id !== undefined && method.input.typeName !== "lf.a2a.v1.SendMessageRequest")
      throw method.name.includes("PushNotificationConfig") ? pushConfigNotFound() : taskNotFound(id);
    throw invalidParams({ field: "tenant", description: "names no agent of this gateway" });
  }
  if (tenant !== caller.agent) throw new BatonError("Forbidden", "the credential does not match this agent");
  return tenant;
}

function taskIdOf(request: Message): string | undefined {
  const { id, taskId } = request as Message & { id?: unknown; taskId?: unknown };
  if (typeof taskId === "string") return taskId;
  return typeof id === "string" ? id : undefined;
}
