/**
 * What the todo engine should do, written down a second time: todo-delegation.md 1.2 to 1.6 and Q1, Q11, Q14 as plain
 * functions over plain data. It imports nothing of the product, so the two cannot be wrong together by sharing code.
 */

export type State =
  | "pending"
  | "claimed"
  | "input-required"
  | "auth-required"
  | "done"
  | "failed"
  | "canceled"
  | "rejected";

/** How a call came out, in one word for both sides. */
export type Outcome = "ok" | "replay" | "conflict" | "notfound" | "terminal" | "mismatch" | "empty";

export interface ModelAttempt {
  readonly seq: number;
  readonly attempt: number;
  readonly claimant: string;
  outcome: string | undefined;
  disposition: string | undefined;
}

export interface ModelTodo {
  readonly name: string;
  readonly owner: string;
  readonly queue: string;
  readonly max: number;
  readonly assignee: string;
  readonly key: string;
  state: State;
  holder: string;
  fence: string;
  /** The lease has run out. Only a test says so: no time passes by itself. */
  lapsed: boolean;
  /** A retry waits for its time; undefined once that has come. */
  parked: boolean;
  /** The client has been asked for longer than the limit. */
  overdue: boolean;
  attempt: number;
  unspent: boolean;
  events: number;
  messages: number;
  /** The status stands with a message, which the next status makes history. */
  statusMessage: boolean;
  attempts: ModelAttempt[];
}

export interface Worker {
  readonly id: string;
  readonly queues: readonly string[];
}

const TERMINAL: readonly State[] = ["done", "failed", "canceled", "rejected"];
const HELD: readonly State[] = ["claimed", "input-required", "auth-required"];

export class Model {
  /** In the order of their creation, which is the order of claims. */
  readonly todos: ModelTodo[] = [];
  /** Live idempotency keys by owner. */
  readonly #keys = new Map<string, ModelTodo>();
  /** Message ids by owner: whose they are and what they said. */
  readonly #messages = new Map<string, { readonly todo: ModelTodo; readonly body: string }>();

  find(name: string): ModelTodo | undefined {
    return this.todos.find((todo) => todo.name === name);
  }

  create(input: {
    readonly name: string;
    readonly owner: string;
    readonly queue: string;
    readonly max: number;
    readonly assignee: string;
    readonly key: string;
    readonly messageId: string;
    readonly body: string;
    readonly refused: boolean;
  }): { readonly outcome: Outcome; readonly todo: ModelTodo | undefined } {
    const seen = this.#messages.get(`${input.owner} ${input.messageId}`);
    if (seen !== undefined) {
      return seen.body === input.body
        ? { outcome: "replay", todo: seen.todo }
        : { outcome: "mismatch", todo: undefined };
    }
    const live = input.key === "" ? undefined : this.#keys.get(`${input.owner} ${input.key}`);
    if (live !== undefined) return { outcome: "replay", todo: live };
    const { name, owner, queue, max, assignee, key } = input;
    const todo: ModelTodo = {
      ...{ name, owner, queue, max, assignee, key },
      ...{ state: "pending", holder: "", fence: "", lapsed: false, parked: false, overdue: false },
      ...{ attempt: 0, unspent: false, events: 1, messages: 1, statusMessage: false, attempts: [] },
    };
    this.todos.push(todo);
    this.#messages.set(`${owner} ${input.messageId}`, { todo, body: input.body });
    if (key !== "") this.#keys.set(`${owner} ${key}`, todo);
    if (input.refused) this.#move(todo, "rejected", true);
    return { outcome: "ok", todo };
  }

  claim(worker: Worker, queue: string, fence: string): { outcome: Outcome; todo: ModelTodo | undefined } {
    this.#settle(queue, "lease_expired");
    const todo = this.todos.find(
      (each) =>
        each.queue === queue &&
        each.state === "pending" &&
        !each.parked &&
        (each.assignee === "" || each.assignee === worker.id),
    );
    if (todo === undefined) return { outcome: "empty", todo };
    this.#take(todo, worker, fence);
    return { outcome: "ok", todo };
  }

  claimById(worker: Worker, name: string, fence: string): Outcome {
    const todo = this.find(name);
    if (todo === undefined || !worker.queues.includes(todo.queue)) return "notfound";
    if (todo.state === "claimed" && todo.lapsed) this.#expire(todo, "lease_expired");
    if (todo.state !== "pending" || todo.parked) return "conflict";
    if (todo.assignee !== "" && todo.assignee !== worker.id) return "conflict";
    this.#take(todo, worker, fence);
    return "ok";
  }

  heartbeat(worker: Worker, name: string, fence: string): Outcome {
    return this.#held(worker, name, fence, HELD, (todo) => {
      todo.lapsed = false;
    });
  }

  complete(worker: Worker, name: string, fence: string, artifacts: number): Outcome {
    return this.#held(worker, name, fence, ["claimed"], (todo) => {
      todo.events += artifacts;
      this.#close(todo, "completed", "done");
      this.#move(todo, "done", false);
    });
  }

  /** `waits`: the retry has a time in the future. */
  fail(worker: Worker, name: string, fence: string, permanent: boolean, waits: boolean): Outcome {
    return this.#held(worker, name, fence, ["claimed"], (todo) => {
      if (permanent || todo.attempt >= todo.max) {
        this.#close(todo, "failed", "dead_lettered");
        this.#move(todo, "failed", true);
        return;
      }
      this.#close(todo, "failed", "retry_scheduled");
      this.#move(todo, "pending", true);
      todo.parked = waits;
    });
  }

  release(worker: Worker, name: string, fence: string): Outcome {
    return this.#held(worker, name, fence, HELD, (todo) => {
      this.#close(todo, "released", "requeued");
      this.#move(todo, "pending", false);
      todo.unspent = true;
    });
  }

  reject(worker: Worker, name: string, fence: string): Outcome {
    return this.#held(worker, name, fence, ["claimed"], (todo) => {
      this.#close(todo, "rejected", "rejected");
      this.#move(todo, "rejected", true);
    });
  }

  interrupt(worker: Worker, name: string, fence: string, to: "input-required" | "auth-required"): Outcome {
    return this.#held(worker, name, fence, ["claimed"], (todo) => {
      const { holder, fence: token, lapsed } = todo;
      this.#move(todo, to, true);
      Object.assign(todo, { holder, fence: token, lapsed });
    });
  }

  progress(worker: Worker, name: string, fence: string): Outcome {
    return this.#held(worker, name, fence, ["claimed", "auth-required"], (todo) => {
      const { holder, fence: token, lapsed } = todo;
      this.#move(todo, "claimed", true);
      Object.assign(todo, { holder, fence: token, lapsed });
    });
  }

  artifact(worker: Worker, name: string, fence: string): Outcome {
    return this.#held(worker, name, fence, ["claimed", "auth-required"], (todo) => {
      todo.events += 1;
    });
  }

  message(owner: string, name: string, messageId: string, body: string): Outcome {
    const todo = this.find(name);
    if (todo === undefined || todo.owner !== owner) return "notfound";
    const seen = this.#messages.get(`${owner} ${messageId}`);
    if (seen !== undefined) return seen.todo === todo && seen.body === body ? "replay" : "mismatch";
    if (TERMINAL.includes(todo.state)) return "terminal";
    this.#messages.set(`${owner} ${messageId}`, { todo, body });
    if (todo.state === "input-required" || todo.state === "auth-required") {
      const { holder, fence, lapsed } = todo;
      this.#move(todo, "claimed", false);
      Object.assign(todo, { holder, fence, lapsed });
    }
    todo.messages += 1;
    return "ok";
  }

  cancel(owner: string, name: string, reason: boolean): Outcome {
    const todo = this.find(name);
    if (todo === undefined || todo.owner !== owner) return "notfound";
    if (TERMINAL.includes(todo.state)) return "terminal";
    this.#close(todo, "canceled", "canceled");
    this.#move(todo, "canceled", reason);
    return "ok";
  }

  retry(name: string): Outcome {
    const todo = this.find(name);
    if (todo === undefined) return "notfound";
    if (todo.state !== "failed") return "conflict";
    this.#move(todo, "pending", false);
    Object.assign(todo, { attempt: 0, unspent: false });
    if (todo.key !== "" && !this.#keys.has(`${todo.owner} ${todo.key}`)) {
      this.#keys.set(`${todo.owner} ${todo.key}`, todo);
    }
    return "ok";
  }

  /** How many todos it ended. */
  revoke(owner: string): number {
    const open = this.todos.filter((todo) => todo.owner === owner && !TERMINAL.includes(todo.state));
    for (const todo of open) {
      this.#close(todo, "revoked", "dead_lettered");
      this.#move(todo, "failed", true);
    }
    return open.length;
  }

  sweep(): void {
    for (const queue of new Set(this.todos.map((todo) => todo.queue))) this.#settle(queue, "reaped");
    for (const todo of this.todos) {
      if (!todo.overdue || !HELD.includes(todo.state) || todo.state === "claimed") continue;
      this.#close(todo, "interrupt_timeout", "dead_lettered");
      this.#move(todo, "failed", true);
    }
  }

  #settle(queue: string, outcome: string): void {
    for (const todo of this.todos) {
      if (todo.queue === queue && todo.state === "claimed" && todo.lapsed) this.#expire(todo, outcome);
    }
  }

  #expire(todo: ModelTodo, outcome: string): void {
    const dead = todo.attempt >= todo.max;
    this.#close(todo, outcome, dead ? "dead_lettered" : "requeued");
    this.#move(todo, dead ? "failed" : "pending", false);
  }

  #take(todo: ModelTodo, worker: Worker, fence: string): void {
    if (!todo.unspent) todo.attempt += 1;
    this.#move(todo, "claimed", false);
    Object.assign(todo, { unspent: false, holder: worker.id, fence });
    todo.attempts.push({
      seq: todo.attempts.length + 1,
      attempt: todo.attempt,
      claimant: worker.id,
      outcome: undefined,
      disposition: undefined,
    });
  }

  #held(
    worker: Worker,
    name: string,
    fence: string,
    states: readonly State[],
    act: (todo: ModelTodo) => void,
  ): Outcome {
    const todo = this.find(name);
    if (todo === undefined || !worker.queues.includes(todo.queue)) return "notfound";
    if (todo.holder !== worker.id || !states.includes(todo.state) || todo.fence !== fence) return "conflict";
    act(todo);
    return "ok";
  }

  #close(todo: ModelTodo, outcome: string, disposition: string): void {
    const last = todo.attempts.at(-1);
    if (last?.outcome === undefined && last !== undefined) Object.assign(last, { outcome, disposition });
  }

  /** Every step is one event; a status message that is replaced becomes history. */
  #move(todo: ModelTodo, state: State, statusMessage: boolean): void {
    if (todo.statusMessage) todo.messages += 1;
    Object.assign(todo, {
      state,
      statusMessage,
      holder: "",
      fence: "",
      lapsed: false,
      parked: false,
      overdue: false,
    });
    todo.events += 1;
    if (TERMINAL.includes(state) && this.#keys.get(`${todo.owner} ${todo.key}`) === todo) {
      this.#keys.delete(`${todo.owner} ${todo.key}`);
    }
  }
}
