import type { LaneTurn, PushLaneStore } from "../store/push-lanes.ts";
import type { PushMetrics } from "./metrics.ts";

export interface RelayOptions {
  readonly lanes: PushLaneStore;
  readonly agents: readonly string[];
  readonly metrics: PushMetrics;
  /** Queues lanes to be worked. May fail: then they are found again by {@link PushLaneStore.due}. */
  queue(agent: string, turns: readonly LaneTurn[]): Promise<void>;
  onError(error: unknown): void;
}

/** Between two looks at an outbox that does not ring, and at forgotten lanes, in milliseconds. */
const ROUND_MS = 1000;

/**
 * Moves pushes from the outboxes, where the commits put them, to their lanes, and lanes to the queue. Every replica
 * runs one: each step is atomic, so none is done twice or left out (D5).
 */
export class OutboxRelay {
  readonly #options: RelayOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #again = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { agents, lanes } = this.#options;
    await Promise.all(agents.map((agent) => lanes.onOutbox(agent, () => this.#wake(agent))));
    this.#schedule();
    for (const agent of agents) this.#wake(agent);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await Promise.all(this.#running.values());
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      for (const agent of this.#options.agents) {
        this.#wake(agent);
        this.#requeue(agent).catch(this.#options.onError);
      }
      this.#schedule();
    }, ROUND_MS);
    this.#timer.unref();
  }

  #wake(agent: string): void {
    if (this.#stopped) return;
    if (this.#running.has(agent)) {
      this.#again.add(agent);
      return;
    }
    const run = this.#empty(agent)
      .catch(this.#options.onError)
      .finally(() => {
        this.#running.delete(agent);
        if (this.#again.delete(agent)) this.#wake(agent);
      });
    this.#running.set(agent, run);
  }

  async #empty(agent: string): Promise<void> {
    const { lanes, metrics } = this.#options;
    for (;;) {
      const { moved, more, turns } = await lanes.relay(agent);
      if (moved > 0) metrics.count("baton_push_relayed_total", {}, moved);
      await this.#options.queue(agent, turns);
      if (!more || this.#stopped) return;
    }
  }

  async #requeue(agent: string): Promise<void> {
    const { lanes, metrics } = this.#options;
    const turns = await lanes.due(agent);
    if (turns.length === 0) return;
    metrics.count("baton_push_requeued_total", {}, turns.length);
    await this.#options.queue(agent, turns);
  }
}
