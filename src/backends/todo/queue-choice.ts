import type { JsonObject } from "@bufbuild/protobuf";
import type { Caller } from "../../domain/caller.ts";
import { BatonError, invalidParams } from "../../domain/errors.ts";
import type { Agent } from "../backend.ts";

/**
 * The queue of a new todo (Q10): `metadata.queue` if given, else the agent's default, else the only one that the caller
 * is granted. A queue outside the grant is Forbidden, whether or not it exists (SB-3).
 */
export function chooseQueue(agent: Agent, caller: Caller, metadata: JsonObject | undefined): string {
  const asked = metadata?.queue;
  if (asked !== undefined && typeof asked !== "string") {
    throw invalidParams({ field: "metadata.queue", description: "must be the name of a queue" });
  }
  const granted = caller.queues.filter((queue) => agent.config.queues.includes(queue));
  if (asked !== undefined) {
    if (!granted.includes(asked)) throw new BatonError("Forbidden", "the endpoint is not granted that queue");
    return asked;
  }
  const { defaultQueue, queues } = agent.config;
  const fallback = defaultQueue ?? (queues.length === 1 ? queues[0] : undefined);
  if (fallback !== undefined && granted.includes(fallback)) return fallback;
  const [only, ...others] = granted;
  if (only === undefined) throw new BatonError("Forbidden", "the endpoint is granted no queue of this agent");
  if (others.length > 0) {
    throw invalidParams({ field: "metadata.queue", description: "is required: several queues are granted" });
  }
  return only;
}
