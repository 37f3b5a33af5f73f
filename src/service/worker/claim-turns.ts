import type { QueueBells, Ring } from "../../store/queue-bell.ts";

/** One ring on its way through the line, and who has had it. */
interface Turn {
  readonly had: Set<Seat>;
}

/**
 * The claims of this process that wait for work, in a line for each queue. A ring wakes one of them and not all: it is for
 * one todo, and each claim is a script in Redis. Whoever cannot use its ring, since the todo is assigned to somebody else
 * or gone already, passes it on, so that it comes to all who could.
 */
export class ClaimTurns {
  readonly #bells: QueueBells;
  readonly #lines = new Map<string, Line>();

  constructor(bells: QueueBells) {
    this.#bells = bells;
  }

  /** Takes a seat in the line of a queue; resolves once rings arrive. Call {@link Seat.leave} on every exit. */
  async join(agent: string, queue: string, wake: () => void): Promise<Seat> {
    // Names of agents hold no slash.
    const key = `${agent}/${queue}`;
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = new Line((ring) => this.#bells.listen(agent, queue, ring));
      this.#lines.set(key, line);
    }
    const mine = line;
    const seat = new Seat(mine, wake, () => {
      if (mine.seats.size > 0 || this.#lines.get(key) !== mine) return;
      this.#lines.delete(key);
      mine.close();
    });
    mine.seats.add(seat);
    try {
      await mine.ready;
      return seat;
    } catch (error) {
      seat.leave();
      throw error;
    }
  }
}

class Line {
  /** The next to be woken first. */
  readonly seats = new Set<Seat>();
  readonly ready: Promise<() => void>;

  constructor(listen: (onRing: (ring: Ring) => void) => Promise<() => void>) {
    this.ready = listen((ring) => this.#ring(ring));
  }

  /** To a seat that waits, where there is one: another is in the middle of a claim. */
  offer(turn: Turn): void {
    let next: Seat | undefined;
    for (const seat of this.seats) {
      if (turn.had.has(seat)) continue;
      next ??= seat;
      if (!seat.waits) continue;
      next = seat;
      break;
    }
    if (next === undefined) return;
    turn.had.add(next);
    this.seats.delete(next);
    this.seats.add(next);
    next.receive(turn);
  }

  close(): void {
    // Where listening failed, whoever waited for it was told.
    this.ready.then((stop) => stop()).catch(() => {});
  }

  #ring({ id }: Ring): void {
    // Without an id: rings may have been missed, so everybody looks.
    if (id === "") for (const seat of this.seats) seat.receive();
    else this.offer({ had: new Set() });
  }
}

/** One waiting claim. */
export class Seat {
  /** Whether it waits for a ring, and is not in the middle of a claim. */
  waits = false;
  readonly #line: Line;
  readonly #wake: () => void;
  readonly #onLeave: () => void;
  #turns: Turn[] = [];

  constructor(line: Line, wake: () => void, onLeave: () => void) {
    this.#line = line;
    this.#wake = wake;
    this.#onLeave = onLeave;
  }

  receive(turn?: Turn): void {
    if (turn !== undefined) this.#turns.push(turn);
    this.#wake();
  }

  /**
   * Claims, with the rings that have come until now. One of them led to what was claimed; the others go to the next in
   * line, and those that came to nothing to the next two: so a todo that only one of many may take finds that one soon.
   */
  async claim<T>(claim: () => Promise<T>, isClaimed: (result: T) => boolean): Promise<T> {
    const held = this.#turns;
    this.#turns = [];
    let claimed = false;
    try {
      const result = await claim();
      claimed = isClaimed(result);
      return result;
    } finally {
      for (const turn of claimed ? held.slice(1) : held) {
        this.#line.offer(turn);
        if (!claimed) this.#line.offer(turn);
      }
    }
  }

  leave(): void {
    this.#line.seats.delete(this);
    for (const turn of this.#turns) this.#line.offer(turn);
    this.#turns = [];
    this.#onLeave();
  }
}
