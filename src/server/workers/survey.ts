import { ANSWER_MS, type Question, type SurveyAnswer } from "./messages.ts";

type Value = SurveyAnswer["value"];

/** A worker that can be asked. */
export interface Asked {
  send(message: { readonly kind: "ask"; readonly id: number; readonly question: Question }): void;
}

/** Carries a question of one worker to all of them. A worker that is gone or busy for too long answers null. */
export class Surveys {
  readonly #open = new Map<number, (value: Value) => void>();
  readonly #answerMs: number;
  #lastId = 0;

  constructor(answerMs: number = ANSWER_MS) {
    this.#answerMs = answerMs;
  }

  /** `workers`: one for each place; undefined where nobody is in it now. */
  async ask(question: Question, workers: readonly (Asked | undefined)[]): Promise<readonly SurveyAnswer[]> {
    return Promise.all(
      workers.map(async (worker, place) => ({
        worker: place + 1,
        value: worker === undefined ? null : await this.#one(question, worker),
      })),
    );
  }

  take(id: number, value: Value): void {
    this.#open.get(id)?.(value);
  }

  #one(question: Question, worker: Asked): Promise<Value> {
    const id = ++this.#lastId;
    return new Promise<Value>((resolve) => {
      const timer = setTimeout(() => done(null), this.#answerMs);
      const done = (value: Value): void => {
        clearTimeout(timer);
        this.#open.delete(id);
        resolve(value);
      };
      this.#open.set(id, done);
      worker.send({ kind: "ask", id, question });
    });
  }
}
