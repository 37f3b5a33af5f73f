/** Pushes under way to one receiving host. Times in milliseconds. */
interface Destination {
  readonly started: Set<{ readonly at: number }>;
  readonly waiters: ((slot: Slot) => void)[];
  /** How many may be under way; grows with each good answer, so that a stranger cannot take many slots at once. */
  window: number;
  proven: boolean;
  suspect: boolean;
  /** Average duration of a push, the last ones weighing most. */
  duration: number;
  /** When the next of those that were sent away may come back. */
  nextAt: number;
}

/** A push that may start. Call `leave` exactly once. */
export interface Slot {
  leave(result: "good" | "bad" | "slow"): void;
}

const FIRST_WINDOW = 8;
const MAX_WINDOW = 64;
const SUSPECT_WINDOW = 2;
const FIRST_DURATION = 250;
/** A push that is under way for longer makes its host a suspect before any time limit has passed. */
const SLOW = 1500;
const AWAY = { min: 20, unproven: 300, proven: 2000, suspect: 30_000 } as const;
/** Lanes that may wait, for each slot: they are held by this process, but not under way. */
export const WAITERS_PER_SLOT = 3;
const MAX_REMEMBERED = 10_000;

/**
 * Shares the slots of this process among receiving hosts, so that a slow one delays only itself (SB-77, FR-54). A host
 * starts with a few slots and earns more by answering; one that hangs keeps two; and hosts that have not proven
 * themselves, all together, never get more than half of all slots, however many names they have.
 */
export class Destinations {
  readonly #total: number;
  readonly #patience: number;
  readonly #hosts = new Map<string, Destination>();
  #underWay = 0;
  #unproven = 0;
  #waiting = 0;

  /**
   * @param total pushes that may be under way at one time
   * @param patience how long a lane may wait for a slot, in milliseconds; then it is sent away and holds nothing
   */
  constructor(total: number, patience: number) {
    this.#total = total;
    this.#patience = patience;
  }

  get underWay(): number {
    return this.#underWay;
  }

  /** A slot, now or soon; or how many milliseconds to stay away. */
  async enter(host: string): Promise<Slot | number> {
    const destination = this.#of(host);
    const slot = this.#take(destination);
    if (slot !== undefined) return slot;
    const mayWait =
      !destination.suspect &&
      destination.waiters.length < (destination.proven ? this.#total * 2 : this.#total / 4) &&
      this.#waiting < this.#total * WAITERS_PER_SLOT;
    return (mayWait ? await this.#wait(destination) : undefined) ?? sendAway(destination);
  }

  #take(destination: Destination): Slot | undefined {
    const now = performance.now();
    const doubtful = isDoubtful(destination, now);
    const room = Math.max(1, this.#total / 2) - this.#unproven;
    if (this.#underWay >= this.#total || (doubtful && room < 1)) return undefined;
    // The fewer slots are left for strangers, the fewer each of them gets, so that there is one for the next.
    const share = doubtful ? Math.max(1, Math.floor(room / (2 * FIRST_WINDOW))) : MAX_WINDOW;
    const window = destination.suspect ? SUSPECT_WINDOW : destination.window;
    if (destination.started.size >= Math.min(window, share)) return undefined;
    const mark = { at: now };
    destination.started.add(mark);
    this.#underWay++;
    if (doubtful) this.#unproven++;
    return {
      leave: (result) => {
        if (!destination.started.delete(mark)) return;
        this.#underWay--;
        if (doubtful) this.#unproven--;
        learn(destination, result, performance.now() - mark.at);
        this.#admit(destination);
      },
    };
  }

  #wait(destination: Destination): Promise<Slot | undefined> {
    this.#waiting++;
    return new Promise((resolve) => {
      const admit = (slot: Slot | undefined) => {
        clearTimeout(timer);
        this.#waiting--;
        resolve(slot);
      };
      const timer = setTimeout(() => {
        destination.waiters.splice(destination.waiters.indexOf(admit), 1);
        admit(undefined);
      }, this.#patience);
      destination.waiters.push(admit);
    });
  }

  #admit(destination: Destination): void {
    while (destination.waiters.length > 0) {
      const slot = this.#take(destination);
      if (slot === undefined) return;
      destination.waiters.shift()?.(slot);
    }
  }

  #of(host: string): Destination {
    const known = this.#hosts.get(host);
    if (known !== undefined) return known;
    if (this.#hosts.size >= MAX_REMEMBERED) {
      for (const [name, { started, waiters }] of this.#hosts) {
        if (started.size === 0 && waiters.length === 0) this.#hosts.delete(name);
      }
    }
    const made: Destination = {
      started: new Set(),
      waiters: [],
      window: FIRST_WINDOW,
      proven: false,
      suspect: false,
      duration: FIRST_DURATION,
      nextAt: 0,
    };
    this.#hosts.set(host, made);
    return made;
  }
}

function isDoubtful(destination: Destination, now: number): boolean {
  const [oldest] = destination.started;
  if (oldest !== undefined && now - oldest.at > SLOW) {
    destination.suspect = true;
    destination.window = FIRST_WINDOW;
  }
  return destination.suspect || !destination.proven;
}

/** Those sent away come back one after the other, as fast as the host works, instead of all at once. */
function sendAway(destination: Destination): number {
  const now = performance.now();
  const window = destination.suspect ? SUSPECT_WINDOW : destination.window;
  const { proven, suspect } = destination;
  const latest = now + (suspect ? AWAY.suspect : proven ? AWAY.proven : AWAY.unproven);
  destination.nextAt = Math.min(latest, Math.max(now, destination.nextAt) + destination.duration / window);
  return Math.max(AWAY.min, destination.nextAt - now) * (0.8 + 0.4 * Math.random());
}

function learn(destination: Destination, result: "good" | "bad" | "slow", took: number): void {
  const weight = destination.proven ? 0.2 : 1;
  destination.duration += (took - destination.duration) * weight;
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
