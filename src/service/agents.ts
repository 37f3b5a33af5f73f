import type { Agent, Backend } from "../backends/backend.ts";
import { BatonError } from "../domain/errors.ts";

/** An agent with what does its work. */
export interface ServedAgent extends Agent {
  readonly backend: Backend;
}

/** The agents of this gateway, by name. */
export class AgentDirectory {
  readonly #agents: ReadonlyMap<string, ServedAgent>;
  readonly defaultAgent: string;

  constructor(agents: readonly ServedAgent[], defaultAgent: string) {
    this.#agents = new Map(agents.map((agent) => [agent.name, agent]));
    this.defaultAgent = defaultAgent;
  }

  has(name: string): boolean {
    return this.#agents.has(name);
  }

  /** Whether strangers may know of the agent: see its card and ask for access to it (SB-67). */
  isDiscoverable(name: string): boolean {
    const agent = this.#agents.get(name);
    return agent !== undefined && (agent.config.discoverable ?? name === this.defaultAgent);
  }

  get(name: string): ServedAgent {
    const agent = this.#agents.get(name);
    if (agent === undefined) throw new BatonError("RouteNotFound", "no such agent");
    return agent;
  }

  get all(): readonly ServedAgent[] {
    return [...this.#agents.values()];
  }
}
