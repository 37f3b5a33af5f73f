/**
 * Tells right answers from wrong ones, cheaply. One answer is read in full; those that are as long and have the telling
 * bytes in the same places are taken for right as well, and any other is read in full again.
 */
export class Proof {
  readonly #read: (answer: Buffer) => void;
  readonly #marks: readonly Buffer[];
  #length = -1;
  #places: readonly number[] = [];

  /** `read` throws where an answer is wrong. A right answer holds all `marks`. */
  constructor(marks: readonly string[], read: (answer: Buffer) => void) {
    this.#marks = marks.map((mark) => Buffer.from(mark));
    this.#read = read;
  }

  /** Undefined where the answer is right. */
  fault(bytes: Buffer, from: number, to: number): Error | undefined {
    if (to - from === this.#length && this.#hasMarks(bytes, from)) return undefined;
    const answer = bytes.subarray(from, to);
    try {
      this.#read(answer);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
    const places = this.#marks.map((mark) => answer.indexOf(mark));
    if (places.includes(-1)) return new Error(`an answer that lacks what it should hold: ${answer}`);
    this.#places = places;
    this.#length = answer.length;
    return undefined;
  }

  #hasMarks(bytes: Buffer, from: number): boolean {
    for (let i = 0; i < this.#marks.length; i += 1) {
      const mark = this.#marks[i];
      const at = from + (this.#places[i] ?? 0);
      if (mark === undefined || bytes.compare(mark, 0, mark.length, at, at + mark.length) !== 0) return false;
    }
    return true;
  }
}
