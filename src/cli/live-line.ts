import type { WriteStream } from "node:tty";
import { fitWidth, printableLine } from "./display-width.ts";

const TICK_MS = 1000;

/** One line at the bottom of a terminal that changes in place, while results scroll by above it. */
export class LiveLine {
  readonly #out: WriteStream;
  readonly #began: number;
  readonly #timer: NodeJS.Timeout;
  #state = "";
  #said = "";
  #percent: number | undefined;
  #shown = false;

  /** `began`: from when time is counted, in milliseconds since 1970. */
  constructor(out: WriteStream, began = Date.now()) {
    this.#out = out;
    this.#began = began;
    this.#timer = setInterval(() => this.#draw(), TICK_MS);
    this.#timer.unref();
  }

  /** What absent parts were stays, but for the percentage, which belongs to what was said. */
  update(now: {
    readonly state?: string;
    readonly said?: string;
    readonly percent?: number | undefined;
  }): void {
    if (now.state !== undefined) this.#state = now.state;
    if (now.said !== undefined) {
      this.#said = now.said;
      this.#percent = now.percent;
    }
    this.#draw();
  }

  /** Takes the line away, so that something can be printed; the next update brings it back. */
  clear(): void {
    if (!this.#shown) return;
    this.#out.write("\r\u001b[2K");
    this.#shown = false;
  }

  end(): void {
    clearInterval(this.#timer);
    this.clear();
  }

  #draw(): void {
    if (this.#state === "") return;
    const bar = this.#percent === undefined ? "" : ` ${barOf(this.#percent)}`;
    const text = `${this.#state}  ${clock(Date.now() - this.#began)}${bar}  ${printableLine(this.#said)}`;
    this.#out.write(`\r\u001b[2K${fitWidth(text.trimEnd(), Math.max(10, this.#out.columns - 1))}`);
    this.#shown = true;
  }
}

/** `0:07`, `12:30`, `1:02:03`. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (n: number) => String(n).padStart(2, "0");
  const minutes = Math.floor(seconds / 60) % 60;
  const hours = Math.floor(seconds / 3600);
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function barOf(percent: number): string {
  const full = Math.round(percent / 10);
  return `[${"#".repeat(full)}${".".repeat(10 - full)}] ${Math.round(percent)} %`;
}
