import { agentText } from "../../backends/todo/todo-backend.ts";
import type { EndpointRecord } from "../../store/endpoint-records.ts";
import type { EndNotice, EndpointStore } from "../../store/endpoints.ts";
import type { GrantStore } from "../../store/grants.ts";
import type { PushConfigStore } from "../../store/push-configs.ts";
import type { TodoStore } from "../../store/todos.ts";

export interface EndpointEndingOptions {
  readonly endpoints: EndpointStore;
  readonly grants: GrantStore;
  readonly todos: TodoStore;
  readonly pushConfigs: PushConfigStore;
  /** Told at once of what other replicas hear through Redis. */
  onEnded(endpointId: string, notice: EndNotice): void;
}

/**
 * For so long after the end, in milliseconds, a replica that missed it may still take a send: what follows from the end
 * is done once more after that time.
 */
const LATE_SEND_MS = 15_000;
const BATCH = 100;
const SYSTEM = "system";
const REVOKED = "The endpoint that sent this work was revoked.";
const EXPIRED = "The endpoint that sent this work reached its expiry.";

/**
 * The end of an endpoint and everything that follows from it: the credential is dead, streams close, pushes for
 * it stop (SB-59), open todos are dead-lettered (SB-27), a friendship is over. Expiry is an end like any other. Each step can be done twice, and is found
 * again after a crash.
 */
export class EndpointEnding {
  readonly #options: EndpointEndingOptions;

  constructor(options: EndpointEndingOptions) {
    this.#options = options;
  }

  /** Revokes; answers how many todos were dead-lettered, or undefined where the endpoint had been revoked before. */
  async revoke(record: EndpointRecord, actor: string): Promise<number | undefined> {
    if (!(await this.#options.endpoints.revoke(record))) return undefined;
    this.#options.onEnded(record.id, "dead");
    return this.#follow(record, actor);
  }

  /** Ends an endpoint whose time has come, without waiting for the sweep. */
  async expire(id: string): Promise<void> {
    const record = await this.#options.endpoints.get(id);
    if (record?.expiresAt !== undefined && record.expiresAt <= Date.now()) await this.revoke(record, SYSTEM);
  }

  /** Ends what is due, on behalf of nobody. Any number of replicas may do it. */
  async settle(): Promise<void> {
    const { endpoints, todos, pushConfigs } = this.#options;
    for (const endpoint of await endpoints.ending(BATCH)) {
      const record = await endpoints.get(endpoint.id);
      if (record === undefined) {
        // The record was deleted before all of this was done; what it sent is still there.
        await pushConfigs.revokeOwner(endpoint.agent, endpoint.id, SYSTEM);
        await todos.revokeOwner(endpoint.agent, endpoint.id, agentText(REVOKED), SYSTEM);
        await endpoints.ended(endpoint);
      } else if (record.revokedAt === undefined) await this.revoke(record, SYSTEM);
      else await this.#follow(record, SYSTEM);
    }
  }

  async #follow(record: EndpointRecord, actor: string): Promise<number> {
    const { endpoints, grants, todos, pushConfigs } = this.#options;
    // First: not even the end of its todos is told to an address that it named.
    await pushConfigs.revokeOwner(record.agent, record.id, actor);
    if (record.friend !== undefined) await grants.revoke(record.friend.grantId, actor);
    const expired = record.expiresAt !== undefined && record.expiresAt <= Date.now();
    const why = agentText(expired ? EXPIRED : REVOKED);
    const deadLettered = await todos.revokeOwner(record.agent, record.id, why, actor);
    // The events of those todos are on their way to the streams, which may end only now (SB-27).
    await endpoints.announceEnd(record.id);
    this.#options.onEnded(record.id, "ended");
    const lateUntil = (record.revokedAt ?? Date.now()) + LATE_SEND_MS;
    if (lateUntil > Date.now()) await endpoints.endBy(record, lateUntil);
    else await endpoints.ended(record);
    return deadLettered;
  }
}

/** Looks for endpoints whose end is due, over and over, beside the sweep of the queues. */
export function startEndpointSweep(
  ending: EndpointEnding,
  options: { readonly intervalMs: number; onError(error: unknown): void },
): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  const schedule = (): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      running = ending.settle().catch(options.onError).finally(schedule);
    }, options.intervalMs);
    timer.unref();
  };
  schedule();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
