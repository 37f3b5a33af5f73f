import { SLICE_BYTES } from "../stall.ts";

/**
 * The bytes of an answer in pieces of at most {@link SLICE_BYTES}. Not a generator: what whoever writes them throws back
 * is for the handler, which a generator would only have returned.
 */
export function inSlices(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => new Slices(body[Symbol.asyncIterator]()) };
}

class Slices implements AsyncIterator<Uint8Array> {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #rest: Uint8Array | undefined;

  constructor(pieces: AsyncIterator<Uint8Array>) {
    this.#pieces = pieces;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    let piece = this.#rest;
    if (piece === undefined) {
      const next = await this.#pieces.next();
      if (next.done === true) return next;
      piece = next.value;
    }
    this.#rest = piece.length > SLICE_BYTES ? piece.subarray(SLICE_BYTES) : undefined;
    return { done: false, value: this.#rest === undefined ? piece : piece.subarray(0, SLICE_BYTES) };
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    await this.#pieces.return?.();
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<IteratorResult<Uint8Array>> {
    await this.#pieces.throw?.(error);
    return { done: true, value: undefined };
  }
}
