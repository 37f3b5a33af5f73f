import { randomBytes } from "node:crypto";
import { type Interrupt, type NewRun, type Principal, Run } from "./run.ts";
import { type Outcome, type Step, WORKFLOWS } from "./workflows.ts";

/** A refusal of the host, in its own REST vocabulary. */
export class HostError extends Error {
  override readonly name = "HostError";
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown>;

  constructor(status: number, code: string, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export interface EngineOptions {
  /** Send the older `approval.requested` and `clarification.requested` events too. */
  legacyTwins: boolean;
  /** Send `node.suspended` only, and leave the interrupt to the snapshot. */
  bareSuspensions: boolean;
  /** How long a cancel shows `cancelling`, in milliseconds. */
  cancelDelayMs: number;
}

type Live = Generator<Step, Outcome, unknown>;

/** Runs workflows and answers what a client may do to a run. */
export class Engine {
  readonly options: EngineOptions = { legacyTwins: false, bareSuspensions: false, cancelDelayMs: 0 };
  readonly runs = new Map<string, Run>();
  created = 0;
  readonly #live = new Map<Run, Live>();
  readonly #holds = new Map<Run, () => void>();

  create(made: NewRun): Run {
    const workflow = WORKFLOWS[made.workflowId];
    if (workflow === undefined) throw new HostError(422, "validation_error", "unknown workflow");
    const run = new Run(made);
    this.runs.set(run.id, run);
    this.created++;
    this.#live.set(run, workflow(made.inputs));
    setImmediate(() => {
      if (run.status !== "pending") return;
      run.status = "running";
      run.emit("run.started", {
        workflowId: made.workflowId,
        transport: "rest",
        owner: { tenant: made.owner.tenant },
      });
      this.#drive(run, undefined);
    });
    return run;
  }

  /** Lets a held, paused or out-of-band suspended run go on. */
  advance(run: Run, value?: unknown): void {
    if (run.status === "paused") {
      run.status = "running";
      run.emit("run.resumed", {});
    }
    if (run.interrupt !== undefined) this.#resume(run, run.interrupt, value ?? {});
    else {
      const hold = this.#holds.get(run);
      this.#holds.delete(run);
      hold?.();
    }
  }

  cancel(run: Run, reason: string): void {
    if (run.terminal)
      throw new HostError(409, "run_terminal", "the run has ended", { runStatus: run.status });
    this.#live.delete(run);
    this.#holds.delete(run);
    run.interrupt = undefined;
    run.status = "cancelling";
    const finish = () => {
      run.status = "cancelled";
      run.emit("run.cancelled", { reason, cancelledBy: "api" });
    };
    if (this.options.cancelDelayMs === 0) finish();
    else setTimeout(finish, this.options.cancelDelayMs).unref();
  }

  /** `POST /runs/{runId}/interrupts/{nodeId}`. Answers whether the interrupt was left. */
  resolve(run: Run, nodeId: string, value: unknown, by: Principal): boolean {
    if (run.status === "cancelled" || run.status === "cancelling") {
      throw run.made.major === 1
        ? new HostError(422, "interrupt_cancelled", "the run was cancelled")
        : new HostError(409, "interrupt_already_resolved", "the run was cancelled");
    }
    const open = run.interrupt;
    if (open === undefined || open.nodeId !== nodeId) {
      const known = run.events.some((event) => event.type === "node.suspended" && event.nodeId === nodeId);
      if (known) throw new HostError(409, "interrupt_already_resolved", "the interrupt is resolved");
      throw new HostError(404, "interrupt_not_found", "no open interrupt at this node");
    }
    if (open.kind === "approval") return this.#decide(run, open, value, by);
    if (open.kind === "clarification") checkAnswers(value);
    if (open.kind === "external-event" && !isObject(value, "eventPayload")) {
      throw new HostError(400, "validation_error", "eventPayload is required");
    }
    this.#resume(run, open, value);
    return true;
  }

  fork(source: Run, mode: string, fromSeq: number): Run {
    const run = new Run(source.made, { runId: source.id, mode });
    this.runs.set(run.id, run);
    for (const event of source.events.slice(0, mode === "replay" ? undefined : fromSeq)) {
      run.emit(event.type, event.payload, event.nodeId);
    }
    for (const [id, body] of source.artifacts) run.artifacts.set(id, body);
    run.status = mode === "replay" ? source.status : "running";
    return run;
  }

  #decide(run: Run, open: Interrupt, value: unknown, by: Principal): boolean {
    const action = isObject(value, "action") ? String(value.action) : "";
    const offered = (open.data.actions as string[]).map((name) => (name === "edit" ? "edit-accept" : name));
    if (!offered.includes(action)) throw new HostError(400, "validation_error", "the action is not offered");
    const approvers = open.data.approversList as string[] | undefined;
    if (approvers !== undefined && !approvers.includes(by.subject)) {
      throw new HostError(403, "forbidden", "the caller is not an approver");
    }
    if (action === "ask") return false;
    run.emit(
      "approval.received",
      { action, decidedBy: by.subject, decidedAt: new Date().toISOString() },
      open.nodeId,
    );
    if (action === "accept") {
      open.votes.add(by.subject);
      if (open.votes.size < Number(open.data.requiredApprovals ?? 1)) return false;
    }
    this.#resume(run, open, value);
    return true;
  }

  #resume(run: Run, open: Interrupt, value: unknown): void {
    run.interrupt = undefined;
    run.status = "running";
    const { nodeId, interruptId, kind } = open;
    run.emit("interrupt.resolved", { nodeId, interruptId, kind, key: open.key }, nodeId);
    setImmediate(() => this.#drive(run, value));
  }

  #drive(run: Run, value: unknown): void {
    let given = value;
    for (;;) {
      const live = this.#live.get(run);
      if (live === undefined || run.terminal) return;
      const next = live.next(given);
      given = undefined;
      if (next.done === true) {
        this.#live.delete(run);
        this.#finish(run, next.value);
        return;
      }
      if (this.#perform(run, next.value)) return;
    }
  }

  /** True when the run now waits. */
  #perform(run: Run, step: Step): boolean {
    switch (step.do) {
      case "emit":
        run.emit(step.type, step.payload, step.nodeId);
        return false;
      case "artifact":
        run.artifacts.set(step.artifactId, step.body);
        run.emit("artifact.created", {
          artifactId: step.artifactId,
          artifactType: "json",
          summary: step.artifactId,
        });
        return false;
      case "hold":
        this.#holds.set(run, () => this.#drive(run, undefined));
        return true;
      case "pause":
        run.status = "paused";
        run.emit("run.paused", { reason: "operator" });
        this.#holds.set(run, () => this.#drive(run, undefined));
        return true;
      case "wait":
        setTimeout(() => this.#drive(run, undefined), step.ms).unref();
        return true;
      case "suspend":
        this.#suspend(run, step);
        return true;
    }
  }

  #suspend(run: Run, step: Extract<Step, { do: "suspend" }>): void {
    const { nodeId, kind, key } = step;
    const major = run.made.major;
    const data =
      major === 2 && Array.isArray(step.data.actions)
        ? { ...step.data, actions: step.data.actions.map((name) => (name === "edit" ? "edit-accept" : name)) }
        : step.data;
    const interruptId = `int_${randomBytes(8).toString("hex")}`;
    run.interrupt = { nodeId, interruptId, kind, key, data, status: step.status, votes: new Set() };
    run.status = step.status;
    run.emit("node.suspended", { nodeId, interruptId, kind, key }, nodeId);
    if (this.options.bareSuspensions) return;
    const requestedAt = new Date().toISOString();
    const payload =
      major === 1
        ? { runId: run.id, nodeId, interruptId, kind, key, data, requestedAt }
        : { kind, key, data, resumeSchema: {} };
    run.emit("interrupt.requested", payload, nodeId);
    if (!this.options.legacyTwins) return;
    if (kind === "approval") run.emit("approval.requested", { nodeId, interruptId, ...data }, nodeId);
    if (kind === "clarification")
      run.emit("clarification.requested", { nodeId, interruptId, ...data }, nodeId);
  }

  #finish(run: Run, outcome: Outcome): void {
    if ("error" in outcome) {
      run.status = "failed";
      run.error = outcome.error;
      run.emit("run.failed", {
        error: outcome.error,
        ...(outcome.nodeId === undefined ? {} : { failedNodeId: outcome.nodeId }),
      });
    } else {
      run.status = "completed";
      run.emit("run.completed", { outputs: outcome.outputs });
    }
  }
}

function isObject<K extends string>(value: unknown, key: K): value is Record<K, unknown> {
  return typeof value === "object" && value !== null && key in value;
}

function checkAnswers(value: unknown): void {
  const answers = isObject(value, "answers") ? value.answers : undefined;
  if (!Array.isArray(answers) || answers.length === 0) {
    throw new HostError(400, "validation_error", "answers are required");
  }
}
