/** Pushes under way to one receiving host. */
interface Destination {
  readonly started: Set<{ readonly at: number }>;
  /** How many may be under way; grows with each good answer, so that a stranger cannot take many slots at once. */
  window: number;
  proven: boolean;
  suspect: boolean;
  deferred: number;
}

/** A push that may start. Call `leave` exactly once. */
export interface Slot {
  leave(result: "good" | "bad" | "slow"): void;
}

const FIRST_WINDOW = 4;
const MAX_WINDOW = 64;
const SUSPECT_WINDOW = 2;
/** A push that is under way for longer makes its host a suspect before any time limit has passed. */
const SLOW_MS = 1500;
const MAX_REMEMBERED = 10_000;

/**
 * Shares the slots of this process among receiving hosts, so that a slow one delays only itself (SB-77, FR-54). A host
 * starts with a few slots and earns more by answering; one that hangs keeps two; and hosts that have not proven
 * themselves, all together, never get more than half of all slots, however many names they have.
 */
export class Destinations {
  readonly #total: number;
  readonly #hosts = new Map<string, Destination>();
  #underWay = 0;
  #unproven = 0;

  constructor(total: number) {
    this.#total = total;
  }

  get underWay(): number {
    return this.#underWay;
  }

  /** A slot, or how many milliseconds to stay away. */
  enter(host: string, now = performance.now()): Slot | number {
    const destination = this.#of(host);
    const doubtful = this.#isDoubtful(destination, now);
    const window = doubtful && destination.suspect ? SUSPECT_WINDOW : destination.window;
    const full = destination.started.size >= window;
    const crowded = doubtful && this.#unproven >= Math.max(1, this.#total / 2);
    if (full || crowded || this.#underWay >= this.#total) {
      destination.deferred++;
      // The more are waiting, the longer each: so a long queue asks no more often than a short one.
      return Math.min(30_000, 100 + (destination.deferred * 500) / window) * (0.5 + Math.random());
    }
    destination.deferred = Math.max(0, destination.deferred - 1);
    const mark = { at: now };
    destination.started.add(mark);
    this.#underWay++;
    if (doubtful) this.#unproven++;
    return {
      leave: (result) => {
        if (!destination.started.delete(mark)) return;
        this.#underWay--;
        if (doubtful) this.#unproven--;
        learn(destination, result);
      },
    };
  }

  #isDoubtful(destination: Destination, now: number): boolean {
    const [oldest] = destination.started;
    if (oldest !== undefined && now - oldest.at > SLOW_MS) {
      destination.suspect = true;
      destination.window = FIRST_WINDOW;
    }
    return destination.suspect || !destination.proven;
  }

  #of(host: string): Destination {
    const known = this.#hosts.get(host);
    if (known !== undefined) return known;
    if (this.#hosts.size >= MAX_REMEMBERED) {
      for (const [name, { started }] of this.#hosts) if (started.size === 0) this.#hosts.delete(name);
    }
    const made: Destination = {
      started: new Set(),
      window: FIRST_WINDOW,
      proven: false,
      suspect: false,
      deferred: 0,
    };
    this.#hosts.set(host, made);
    return made;
  }
}

function learn(destination: Destination, result: "good" | "bad" | "slow"): void {
  if (result === "good") {
    destination.proven = true;
    destination.suspect = false;
    destination.window = Math.min(MAX_WINDOW, destination.window + 1);
  } else if (result === "slow") {
    destination.proven = false;
    destination.suspect = true;
    destination.window = FIRST_WINDOW;
  }
}
