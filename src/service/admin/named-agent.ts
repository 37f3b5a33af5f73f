import { invalidParams } from "../../domain/errors.ts";
import type { AgentDirectory, ServedAgent } from "../agents.ts";

/** The agent that a request names; the default one for an empty name. Throws InvalidParams for a name of none. */
export function namedAgent(agents: AgentDirectory, name: string): ServedAgent {
  const agent = name || agents.defaultAgent;
  if (agents.has(agent)) return agents.get(agent);
  throw invalidParams({ field: "agent", description: "names no agent of this gateway" });
}

/** The agent that a request names, or all, by name, for an empty name. Throws InvalidParams for a name of none. */
export function namedAgents(agents: AgentDirectory, name: string): readonly ServedAgent[] {
  if (name !== "") return [namedAgent(agents, name)];
  return [...agents.all].sort((a, b) => (a.name < b.name ? -1 : 1));
}
