import type { TodoStore } from "../../store/todos.ts";
import type { SweepRound } from "../../telemetry/metrics.ts";
import type { Agent } from "../backend.ts";
import { agentText } from "./todo-backend.ts";

export interface SweeperOptions {
  readonly agents: readonly Agent[];
  readonly intervalMs: number;
  /** 0: an interrupted task waits for ever. */
  readonly interruptLimitMs: number;
  readonly retentionMs: number;
  /** Ended tasks of one agent that are kept at most. */
  readonly maxEnded: number;
  onError(error: unknown): void;
  /** Told of each round of an agent. */
  onRound?(round: SweepRound): void;
}

/**
 * Housekeeping of the todo queues: due retries, lapsed leases, unanswered interrupts, old tasks. Every replica may run
 * it, since each unit of work is taken once by its script; claims recover due work without it (SB-16, SB-18).
 */
export function startSweeper(todos: TodoStore, options: SweeperOptions): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let running: Promise<void> = Promise.resolve();

  const round = async (): Promise<void> => {
    for (const agent of options.agents) {
      const begun = performance.now();
      const round = { agent: agent.name, changed: 0, failed: false };
      try {
        round.changed = await sweepAgent(todos, agent, options);
      } catch (error) {
        round.failed = true;
        options.onError(error);
      }
      options.onRound?.({ ...round, ms: performance.now() - begun });
    }
  };
  const schedule = (): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      running = round().finally(schedule);
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

async function sweepAgent(todos: TodoStore, agent: Agent, options: SweeperOptions): Promise<number> {
  const input = {
    interruptLimitMs: options.interruptLimitMs,
    timeoutMessage: agentText("The question was not answered in time."),
    retentionMs: options.retentionMs,
    maxEnded: options.maxEnded,
  };
  let total = 0;
  for (;;) {
    const changed = await todos.sweep(agent.name, agent.config.queues, input);
    if (changed === 0) return total;
    total += changed;
  }
}
