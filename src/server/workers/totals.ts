import { addSnapshots, countsOf, type MetricsSnapshot } from "../../telemetry/metrics.ts";

/**
 * What the workers of a gateway have counted, those that have ended among them: a sum from which one is missing falls, and
 * whoever scrapes it takes that for a counter begun anew, and counts all that the others had once more.
 */
export class Totals {
  /** By place; what each told last. */
  readonly #last = new Map<number, MetricsSnapshot>();
  #ended: readonly MetricsSnapshot[] = [];
  #adding: Promise<void> = Promise.resolve();

  told(place: number, snapshot: MetricsSnapshot): void {
    this.#last.set(place, snapshot);
  }

  /** What it counted stays, as far as it was told; what it held went with it. Resolves when all that ended are one. */
  ended(place: number): Promise<void> {
    const last = this.#last.get(place);
    if (last === undefined) return this.#adding;
    this.#last.delete(place);
    this.#ended = [...this.#ended, countsOf(last)];
    this.#adding = this.#adding.then(() => this.#add());
    return this.#adding;
  }

  /** To be added up. A worker that is too busy to answer is there with what it told before. */
  all(): readonly MetricsSnapshot[] {
    return [...this.#last.values(), ...this.#ended];
  }

  /** A worker may end every minute for years, and must not cost a snapshot each time. */
  async #add(): Promise<void> {
    const several = this.#ended;
    if (several.length < 2) return;
    const one = await addSnapshots(several);
    // More may have come in the meantime.
    this.#ended = [one, ...this.#ended.slice(several.length)];
  }
}
