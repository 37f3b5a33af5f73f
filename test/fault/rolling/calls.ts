/** A steady load of unary calls, none of which the caller repeats. */
import type { JsonObject } from "@bufbuild/protobuf";
import { message } from "../../scenarios/actors.ts";
import type { Driver } from "../../scenarios/driver.ts";

export interface NamedDriver {
  readonly name: string;
  readonly driver: Driver;
}

export interface CallsReport {
  readonly calls: number;
  /** What failed, in words. */
  readonly failures: readonly string[];
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const TIMEOUT_MS = 10_000;
const TICK_MS = 10;

/** Calls at a fixed rate, whether or not the answers come, with SendMessage, GetTask and ListTasks in turn on each client. */
export class Calls {
  readonly #clients: readonly NamedDriver[];
  readonly #token: string;
  readonly #begun = performance.now();
  readonly #failures: string[] = [];
  readonly #times: number[] = [];
  readonly #open = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #count = 0;
  #lastId: string;

  constructor(options: {
    readonly clients: readonly NamedDriver[];
    readonly token: string;
    readonly perSecond: number;
    /** A task to read until the load has made one. */
    readonly firstId: string;
  }) {
    this.#clients = options.clients;
    this.#token = options.token;
    this.#lastId = options.firstId;
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - this.#begun) / 1000) * options.perSecond);
      while (this.#count < due) this.#start();
    }, TICK_MS);
  }

  async stop(): Promise<CallsReport> {
    clearInterval(this.#timer);
    await Promise.all(this.#open);
    const times = this.#times.toSorted((one, other) => one - other);
    const share = (part: number) => Math.round(times[Math.floor((times.length - 1) * part)] ?? 0);
    return {
      calls: this.#count,
      failures: this.#failures,
      p50: share(0.5),
      p99: share(0.99),
      max: share(1),
    };
  }

  #start(): void {
    const number = this.#count;
    this.#count += 1;
    const client = this.#clients[number % this.#clients.length];
    if (client === undefined) throw new Error("no clients");
    const running = this.#call(client, Math.floor(number / this.#clients.length) % 3);
    this.#open.add(running);
    void running.finally(() => this.#open.delete(running));
  }

  async #call({ name, driver }: NamedDriver, turn: number): Promise<void> {
    const begun = performance.now();
    const options = { token: this.#token, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const send: JsonObject = { message: message("load"), configuration: { returnImmediately: true } };
    try {
      if (turn === 0) {
        const { payload } = (await driver.unary("SendMessage", send, options)).message;
        if (payload.case !== "task") throw new Error(`answered ${payload.case}`);
        this.#lastId = payload.value.id;
      } else if (turn === 1) await driver.unary("GetTask", { id: this.#lastId }, options);
      else await driver.unary("ListTasks", { pageSize: 5 }, options);
      this.#times.push(performance.now() - begun);
    } catch (error) {
      const method = ["SendMessage", "GetTask", "ListTasks"][turn];
      const at = ((begun - this.#begun) / 1000).toFixed(2);
      this.#failures.push(`${at} s: ${method} by ${name}: ${causes(error)}`);
    }
  }
}

function causes(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${causes(error.cause)}`;
}
