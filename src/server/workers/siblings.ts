/** A worker's line to the primary, and through it to the other workers. */
import {
  type Addresses,
  ORDERS_VARIABLE,
  type Question,
  type SurveyAnswer,
  type ToPrimary,
  type ToWorker,
  type WorkerAnswers,
  type WorkerOrders,
} from "./messages.ts";

export type OwnAnswers = { readonly [Q in Question]: () => Promise<WorkerAnswers[Q]> };

/** The part of a process that talks to its parent. */
export interface ParentLine {
  send?(message: ToPrimary, handle: undefined, options: undefined, sent: () => void): unknown;
  on(event: "message", listener: (message: ToWorker) => void): unknown;
}

/** The line to the primary, where this process was started as a worker. To be made before anything that takes time: what the primary says is lost where nobody listens. */
export function siblingsOf(process: NodeJS.Process): Siblings | undefined {
  const orders = process.env[ORDERS_VARIABLE];
  if (orders === undefined || process.send === undefined) return undefined;
  return new Siblings(JSON.parse(orders) as WorkerOrders, process);
}

/** What the workers of one gateway are together: operators see one gateway, whichever worker they reach. */
export class Siblings {
  readonly orders: WorkerOrders;
  /** Resolves with the time that calls in flight have, in milliseconds, when the primary asks for the end. */
  readonly stopped: Promise<number>;
  readonly #line: ParentLine;
  readonly #surveys = new Map<number, (answers: readonly SurveyAnswer[]) => void>();
  #answers: OwnAnswers | undefined;
  #lastId = 0;

  constructor(orders: WorkerOrders, line: ParentLine) {
    this.orders = orders;
    this.#line = line;
    const stopped = Promise.withResolvers<number>();
    this.stopped = stopped.promise;
    line.on("message", (message) => {
      if (message.kind === "stop") stopped.resolve(message.graceMs);
      else if (message.kind === "ping") void this.#tell({ kind: "pong" });
      else if (message.kind === "ask") void this.#answer(message.id, message.question);
      else if (message.kind === "survey") {
        this.#surveys.get(message.id)?.(message.answers);
        this.#surveys.delete(message.id);
      }
    });
  }

  /** From now on the others are answered. */
  serve(answers: OwnAnswers): void {
    this.#answers = answers;
  }

  ready({ url, adminUrl, consoleUrl }: Addresses): void {
    void this.#tell({
      kind: "ready",
      url,
      adminUrl,
      ...(consoleUrl === undefined ? {} : { consoleUrl }),
    });
  }

  /** Resolves when the primary has been told. */
  failed(message: string): Promise<void> {
    return this.#tell({ kind: "failed", message });
  }

  /** Why the workers together are not ready: each must be. */
  async readiness(): Promise<readonly string[]> {
    const answers = await this.#survey("readiness");
    return answers.flatMap(({ worker, value }) =>
      value === null
        ? [`worker ${worker} does not answer`]
        : value.map((reason) => `worker ${worker}: ${reason}`),
    );
  }

  /** What the workers have counted, those that have ended among them; to be added up. */
  async metrics(): Promise<NonNullable<WorkerAnswers["metrics"]>[]> {
    const answers = await this.#survey("metrics");
    return answers.flatMap(({ value }) => (value === null ? [] : [value]));
  }

  #survey<Q extends Question>(
    question: Q,
  ): Promise<readonly { readonly worker: number; readonly value: WorkerAnswers[Q] | null }[]> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      // The primary answers with what it asked for.
      this.#surveys.set(id, resolve as (answers: readonly SurveyAnswer[]) => void);
      void this.#tell({ kind: "survey", id, question });
    });
  }

  async #answer(id: number, question: Question): Promise<void> {
    const value = await this.#answers?.[question]().catch(() => undefined);
    if (value !== undefined) await this.#tell({ kind: "answer", id, value });
  }

  /** A primary that is gone takes this process with it, so nobody waits for its answer. */
  #tell(message: ToPrimary): Promise<void> {
    return new Promise((resolve) => {
      this.#line.send?.(message, undefined, undefined, resolve);
    });
  }
}
