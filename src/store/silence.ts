import { ErrorReply } from "redis";

/**
 * Notices a server that answers nothing at all while it is asked. One that is gone without a word, or stuck, looks as good
 * as one that waits; one that answers some while others take long is well.
 */
export class Silence {
  #waiting = 0;
  #heardAt = 0;

  /** Waits with the sender of a command that is on its way, whatever comes of it. */
  async until<T>(answer: Promise<T>): Promise<T> {
    if (this.#waiting === 0) this.heard();
    this.#waiting++;
    try {
      const reply = await answer;
      this.heard();
      return reply;
    } catch (error) {
      if (error instanceof ErrorReply) this.heard();
      throw error;
    } finally {
      this.#waiting--;
    }
  }

  /** The server has said something. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  /** Whether it has said nothing for longer than `ms`, in milliseconds, though it was asked. */
  isLongerThan(ms: number): boolean {
    return this.#waiting > 0 && performance.now() - this.#heardAt > ms;
  }
}
