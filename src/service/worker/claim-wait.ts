import type { ClaimResult, Holder } from "../../store/todo-records.ts";
import type { TodoStore } from "../../store/todos.ts";
import type { ClaimTurns } from "./claim-turns.ts";

export interface ClaimWait {
  readonly todos: TodoStore;
  readonly turns: ClaimTurns;
  readonly agent: string;
  readonly holder: Holder;
  readonly queue: string;
  readonly ttlMs: number;
  readonly claimant: string;
  /** 0: do not wait. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  readonly deadlineAt?: number;
}

/** Time to get an answer home before the client's own deadline, in milliseconds. */
const MARGIN_MS = 200;

/**
 * Claims, and where there is nothing yet waits for a ring, for the next delayed or lapsed work, or for the time to pass.
 * A client that went away claims nothing more: its lease would only run out (SB-72).
 */
export async function claimWithWait(wait: ClaimWait): Promise<ClaimResult> {
  const claim = () =>
    wait.todos.claim(wait.agent, wait.holder, {
      queue: wait.queue,
      id: "",
      ttlMs: wait.ttlMs,
      claimant: wait.claimant,
    });
  const byClient = wait.deadlineAt === undefined ? Number.POSITIVE_INFINITY : wait.deadlineAt - MARGIN_MS;
  const until = Math.min(Date.now() + wait.waitMs, byClient);
  if (until <= Date.now()) return claim();
  if (wait.signal.aborted) return { kind: "empty", nextDueMs: undefined };
  // Where there is work, nobody needs to listen for any.
  const first = await claim();
  if (first.kind !== "empty") return first;

  let rung = false;
  let wake: (() => void) | undefined;
  const ring = () => {
    rung = true;
    wake?.();
  };
  const seat = await wait.turns.join(wait.agent, wait.queue, ring);
  wait.signal.addEventListener("abort", ring, { once: true });
  try {
    for (;;) {
      if (wait.signal.aborted) return { kind: "empty", nextDueMs: undefined };
      rung = false;
      const result = await seat.claim(claim, ({ kind }) => kind === "claimed");
      const left = until - Date.now();
      if (result.kind !== "empty" || left <= 0) return result;
      if (rung) continue;
      const pause = Math.min(left, Math.max(1, result.nextDueMs ?? left));
      seat.waits = true;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pause);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      wake = undefined;
      seat.waits = false;
    }
  } finally {
    seat.leave();
    wait.signal.removeEventListener("abort", ring);
  }
}
