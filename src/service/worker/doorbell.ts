import type { QueueBells, Ring } from "../../store/queue-bell.ts";
import type { RingGate } from "../../store/ring-gate.ts";
import type { TodoReads } from "../../store/todo-reads.ts";
import type { TodoRecord } from "../../store/todo-records.ts";

/** What a ring says: which todo, and one line about it. No payload, no lease (SB-73). */
export interface DoorbellRing {
  readonly todoId: string;
  readonly queue: string;
  readonly title: string;
  /** Empty: none. */
  readonly kind: string;
  /** Empty: none. */
  readonly source: string;
}

/** Somebody who can be rung for. */
export interface RingTarget {
  readonly agent: string;
  readonly queues: readonly string[];
  /** Whether it would take a ring now. */
  readonly ready: boolean;
  ring(ring: DoorbellRing): void;
}

/** One queue with those who listen; the first is the next to be rung. */
interface Lane {
  readonly agent: string;
  readonly queue: string;
  readonly targets: RingTarget[];
  readonly listening: Promise<() => void>;
}

export interface DoorbellOptions {
  readonly bells: QueueBells;
  readonly gate: RingGate;
  readonly todos: TodoReads;
  onError(error: unknown): void;
}

/** Rings held back until their todo's not-before time; one more is dropped. */
const MAX_DELAYED = 1000;

/**
 * Rings one listener for each todo that becomes claimable, in turn (SB-73). A ring is a hint: with nobody to hear it, it
 * is dropped, and the todo waits in its queue as it would anyway.
 */
export class Doorbell {
  readonly #options: DoorbellOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #delayed = new Set<NodeJS.Timeout>();

  constructor(options: DoorbellOptions) {
    this.#options = options;
  }

  /** Resolves once rings arrive, to the function that ends them. */
  async join(target: RingTarget): Promise<() => void> {
    const lanes = target.queues.map((queue) => this.#laneOf(target.agent, queue));
    for (const { targets } of lanes) targets.push(target);
    const leave = () => {
      for (const lane of lanes) this.#leave(lane, target);
    };
    try {
      await Promise.all(lanes.map(({ listening }) => listening));
    } catch (error) {
      leave();
      throw error;
    }
    return leave;
  }

  #laneOf(agent: string, queue: string): Lane {
    const key = JSON.stringify([agent, queue]);
    const known = this.#lanes.get(key);
    if (known !== undefined) return known;
    const listening = this.#options.bells.listen(agent, queue, (ring) => this.#heard(lane, ring));
    const lane: Lane = { agent, queue, targets: [], listening };
    this.#lanes.set(key, lane);
    return lane;
  }

  #leave(lane: Lane, target: RingTarget): void {
    const at = lane.targets.indexOf(target);
    if (at < 0) return;
    lane.targets.splice(at, 1);
    const key = JSON.stringify([lane.agent, lane.queue]);
    if (lane.targets.length > 0 || this.#lanes.get(key) !== lane) return;
    this.#lanes.delete(key);
    lane.listening.then((stop) => stop()).catch(() => {});
  }

  #heard(lane: Lane, ring: Ring): void {
    // Without a todo: the connection was away and rings may be lost. There is nothing to name.
    if (ring.id === "") return;
    const wait = ring.at - Date.now();
    if (wait <= 0) {
      this.#ring(lane, ring.id).catch(this.#options.onError);
      return;
    }
    if (this.#delayed.size >= MAX_DELAYED || wait > 2 ** 31 - 1) return;
    const timer = setTimeout(() => {
      this.#delayed.delete(timer);
      this.#ring(lane, ring.id).catch(this.#options.onError);
    }, wait);
    timer.unref();
    this.#delayed.add(timer);
  }

  async #ring(lane: Lane, id: string): Promise<void> {
    const { todos, gate } = this.#options;
    if (!lane.targets.some(({ ready }) => ready)) return;
    const todo = (await todos.read(lane.agent, id, [lane.queue], 0))?.todo;
    if (todo?.state !== "pending" || !(await gate.pass(lane.agent, id, todo.attemptSeq))) return;
    const at = lane.targets.findIndex(({ ready }) => ready);
    const [target] = at < 0 ? [] : lane.targets.splice(at, 1);
    if (target === undefined) return;
    lane.targets.push(target);
    target.ring(ringOf(todo));
  }
}

function ringOf({ id, queue, title, kind, source }: TodoRecord): DoorbellRing {
  return { todoId: id, queue, title, kind, source };
}
