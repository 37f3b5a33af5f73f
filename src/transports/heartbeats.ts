/** Turns of the wheel in the time that a heartbeat waits. */
const TURNS = 8;

/** Something that is told when it has been silent for long enough. */
export interface Heartbeat {
  /** Something was sent: the silence begins again. */
  touch(): void;
  /** While held it is never told. */
  hold(): void;
  stop(): void;
}

/**
 * The heartbeats of all streams of a process on one timer. A timer of its own for each of ten thousand streams, set
 * anew with every event, costs more than the event; here an event costs one assignment.
 */
export class Heartbeats {
  readonly #turnMs: number;
  readonly #beats = new Set<Beat>();
  #timer: NodeJS.Timeout | undefined;
  #turn = 0;

  /** `silenceMs`: told after this much silence, or up to an eighth more. */
  constructor(silenceMs: number) {
    this.#turnMs = Math.max(1, silenceMs / TURNS);
  }

  start(onSilence: () => void): Heartbeat {
    const beat = new Beat(this, onSilence);
    this.#beats.add(beat);
    this.#timer ??= setInterval(() => this.#next(), this.#turnMs).unref();
    return beat;
  }

  /** The turn that goes on. */
  get turn(): number {
    return this.#turn;
  }

  forget(beat: Beat): void {
    this.#beats.delete(beat);
    if (this.#beats.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #next(): void {
    this.#turn += 1;
    for (const beat of this.#beats) {
      // The turn under way when it was touched may have been almost over.
      if (beat.held || this.#turn - beat.since <= TURNS) continue;
      beat.since = this.#turn;
      beat.onSilence();
    }
  }
}

class Beat implements Heartbeat {
  since: number;
  held = false;
  readonly onSilence: () => void;
  readonly #wheel: Heartbeats;

  constructor(wheel: Heartbeats, onSilence: () => void) {
    this.#wheel = wheel;
    this.since = wheel.turn;
    this.onSilence = onSilence;
  }

  touch(): void {
    this.since = this.#wheel.turn;
    this.held = false;
  }

  hold(): void {
    this.held = true;
  }

  stop(): void {
    this.#wheel.forget(this);
  }
}

const wheels = new Map<number, Heartbeats>();

/** The wheel of a length of silence; a process has one or two. */
export function heartbeatsOf(silenceMs: number): Heartbeats {
  let wheel = wheels.get(silenceMs);
  if (wheel === undefined) {
    wheel = new Heartbeats(silenceMs);
    wheels.set(silenceMs, wheel);
  }
  return wheel;
}
