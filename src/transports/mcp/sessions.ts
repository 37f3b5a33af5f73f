import type { Caller } from "../../domain/caller.ts";
import type { McpSession } from "./session.ts";

/** Sessions that one endpoint may have on this replica; for one more, its least recently used one ends. */
const PER_ENDPOINT = 64;

/** The sessions of this replica. A session id of another endpoint is one that does not exist. */
export class Sessions {
  /** Least recently used first. */
  readonly #sessions = new Map<string, McpSession>();

  add(session: McpSession): void {
    const own = [...this.#sessions.values()].filter(({ caller }) => caller.id === session.caller.id);
    if (own.length >= PER_ENDPOINT) own[0]?.end();
    this.#sessions.set(session.id, session);
  }

  find(id: string, caller: Caller): McpSession | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined || session.caller.id !== caller.id) return undefined;
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    return session;
  }

  remove(session: McpSession): void {
    this.#sessions.delete(session.id);
  }
}
