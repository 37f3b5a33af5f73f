import type { LeanResponse } from "../../transports/http-handler.ts";
import { securityFields } from "../security-headers.ts";
import { answerHead } from "./answer-text.ts";

/** The connection that an answer goes out on. */
export interface Out {
  /** What the answer says of the connection, as header lines. */
  connectionLines(): string;
  /** Takes all of it; closes the answer once it is out. */
  write(text: string, encoding: "latin1" | "utf8"): void;
  /** Calls back when nothing has gone out for so long, in milliseconds. */
  watch(stallMs: number, stalled: () => void): void;
  cut(): void;
}

/** One answer, written in one piece. To those who look at answers it is what a `ServerResponse` is. */
export class LeanAnswer implements LeanResponse {
  writableEnded = false;
  writableFinished = false;
  destroyed = false;
  readonly #out: Out;
  /** Set before the answer; names and values in turn. */
  #fields: string[] = [];
  #listeners: (() => void)[] = [];

  constructor(out: Out) {
    this.#out = out;
  }

  get headersSent(): boolean {
    return this.writableEnded;
  }

  on(_event: "close", listener: () => void): void {
    this.#listeners.push(listener);
  }

  getHeader(name: string): string | undefined {
    const at = this.#indexOf(name);
    return at < 0 ? undefined : this.#fields[at + 1];
  }

  setHeader(name: string, value: string): void {
    const at = this.#indexOf(name);
    if (at < 0) this.#fields.push(name, value);
    else this.#fields[at + 1] = value;
  }

  #indexOf(name: string): number {
    return this.#fields.findIndex((text, index) => index % 2 === 0 && text === name);
  }

  send(status: number, head: readonly string[], body: string, encoding: "latin1" | "utf8"): void {
    const set = this.#fields;
    // In the order of a `SecuredResponse`: what was set one by one comes before what it adds.
    const fields = set.length === 0 ? [...securityFields(head), ...head] : withSecurity([...set, ...head]);
    const text = answerHead(status, fields, this.#out.connectionLines());
    this.writableEnded = true;
    this.#out.write(text + body, encoding);
  }

  setTimeout(stallMs: number, stalled: () => void): void {
    this.#out.watch(stallMs, stalled);
  }

  destroy(): void {
    this.#out.cut();
  }

  /** It is out, or will never be. */
  close(isOut: boolean): void {
    if (this.destroyed) return;
    this.writableFinished = isOut;
    this.destroyed = true;
    for (const listener of this.#listeners) listener();
  }
}

function withSecurity(head: readonly string[]): readonly string[] {
  return [...head, ...securityFields(head)];
}
