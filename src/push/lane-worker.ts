import type { Config } from "../config/schema.ts";
import { traceHeadersOf } from "../domain/trace-context.ts";
import type { EgressClient } from "../egress/index.ts";
import type { LaneHead, LaneState, LaneTurn, PushLaneStore } from "../store/push-lanes.ts";
import type { Settlement } from "../store/push-steps.ts";
import type { Tracer } from "../telemetry/tracing/span.ts";
import { attemptNote } from "./attempt-note.ts";
import { startAttemptSpan } from "./attempt-span.ts";
import { type RetryPolicy, retryDelay } from "./backoff.ts";
import { secretBinding } from "./configs.ts";
import type { PushContent } from "./content.ts";
import type { DecisionLog, PushLog } from "./decision-log.ts";
import { Destinations } from "./destinations.ts";
import type { FailureReason } from "./failure.ts";
import { HostGate } from "./host-gate.ts";
import type { PushMetrics } from "./metrics.ts";
import { type AttemptOutcome, judgeError, judgeResponse } from "./outcome.ts";
import { type BodyPrinters, type PushRequest, pushRequest } from "./request.ts";
import type { PushSecret, SecretBox } from "./secret-box.ts";

export interface LaneWorkerOptions {
  readonly lanes: PushLaneStore;
  readonly egress: EgressClient;
  readonly box: SecretBox;
  readonly printers: BodyPrinters;
  readonly settings: Config["push"];
  readonly metrics: PushMetrics;
  readonly decisions: DecisionLog;
  readonly log: PushLog;
  /** What the pushes of an agent carry. */
  contentOf(agent: string): PushContent;
  /** Makes a span of each attempt; absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** Unique in the deployment; fences lanes against other processes. */
  readonly holder: string;
}

/** A wait so short that the lane is kept for it, in milliseconds. */
const SHORT_WAIT_MS = 250;

/**
 * Delivers the pushes of lanes: one at a time in each lane, in order. A lane is left as soon as it is empty or has to
 * wait for anything but its receiver's answer.
 */
export class LaneWorker {
  readonly #options: LaneWorkerOptions;
  readonly #destinations: Destinations;
  readonly #gate: HostGate;
  readonly #retry: RetryPolicy;
  readonly #timeoutMs: number;
  readonly #active = new Map<string, AbortController>();
  #stopping = false;

  constructor(options: LaneWorkerOptions) {
    const { settings } = options;
    this.#options = options;
    this.#timeoutMs = settings.timeoutSeconds * 1000;
    this.#destinations = new Destinations(settings.concurrency, this.#timeoutMs / 2 + 1000);
    this.#gate = new HostGate(options);
    this.#retry = {
      attempts: settings.attempts,
      baseMs: settings.baseSeconds * 1000,
      capMs: settings.capSeconds * 1000,
      retryAfterCapMs: settings.retryAfterCapSeconds * 1000,
    };
  }

  /** Pushes whose request is under way in this process. */
  get underWay(): number {
    return this.#destinations.underWay;
  }

  /** Takes no more pushes; lanes are put back after the one they are at. */
  stop(): void {
    this.#stopping = true;
  }

  /** Cuts what is still under way; it is sent again by another process, and costs no attempt (D4). */
  interrupt(): void {
    for (const controller of this.#active.values()) controller.abort();
  }

  /** Ends the request of a config that was just deleted (A2A-107). */
  forget(ref: string): void {
    this.#active.get(ref)?.abort();
  }

  /** Works a lane; answers in how many milliseconds to come back, or undefined where that is not needed. */
  async run(agent: string, turn: LaneTurn): Promise<number | undefined> {
    // The queue may hand out a job twice; the lease keeps other processes away, this the same process.
    if (this.#active.has(turn.ref)) return 100;
    const controller = new AbortController();
    this.#active.set(turn.ref, controller);
    try {
      const { lanes, holder } = this.#options;
      let state = await lanes.take(agent, turn, holder);
      let opened: OpenedSecret | undefined;
      while (state.kind === "head") {
        const { sealed, config } = state;
        if (opened?.sealed !== sealed || opened.url !== config.url) {
          opened = { sealed, url: config.url, secret: this.#secretOf(agent, state) };
        }
        const settlement = await this.#work(agent, state, opened.secret, controller.signal);
        state = await lanes.settle(agent, turn.ref, holder, state.seq, settlement);
        if (state.kind === "waiting") return "waitMs" in settlement ? settlement.waitMs : 0;
      }
      return waitOf(state);
    } finally {
      this.#active.delete(turn.ref);
    }
  }

  /** One push, as far as it can be brought now. */
  async #work(
    agent: string,
    head: LaneHead,
    secret: PushSecret | FailureReason,
    signal: AbortSignal,
  ): Promise<Settlement> {
    const { settings, metrics } = this.#options;
    if (this.#stopping) return { verb: "wait", waitMs: 0, reserved: head.reserved };
    if (Date.now() - head.committedAt > settings.expirySeconds * 1000)
      return this.#giveUp(agent, head, "expired");
    if (typeof secret === "string") return this.#giveUp(agent, head, secret);
    const request = this.#requestOf(agent, head, secret);
    if (request === undefined) return this.#giveUp(agent, head, "unsendable");

    const slot = await this.#destinations.enter(head.config.host);
    if (typeof slot === "number") {
      metrics.count("baton_push_held_back_total", { cause: "slots" });
      return { verb: "wait", waitMs: slot, reserved: head.reserved };
    }
    let result: "good" | "bad" | "slow" = "bad";
    try {
      const admission = await this.#gate.admit(head.config.host, head.reserved);
      if (admission.kind === "open") {
        metrics.count("baton_push_held_back_total", { cause: "breaker" });
        return {
          verb: "wait",
          waitMs: admission.waitMs * (1 + 0.2 * Math.random()),
          reserved: head.reserved,
        };
      }
      if (admission.kind === "wait") {
        metrics.count("baton_push_held_back_total", { cause: "host_limit" });
        if (admission.waitMs > SHORT_WAIT_MS)
          return { verb: "wait", waitMs: admission.waitMs, reserved: true };
        await pause(admission.waitMs);
      }
      const failuresBefore = admission.kind === "go" ? admission.failures : 0;
      const started = performance.now();
      const outcome = await this.#post(agent, head, request, signal);
      const durationMs = Math.round(performance.now() - started);
      result = resultOf(outcome);
      await this.#gate.tell(head.config.host, outcome, failuresBefore);
      return this.#settlementOf(agent, head, outcome, durationMs);
    } finally {
      slot.leave(result);
    }
  }

  async #post(
    agent: string,
    head: LaneHead,
    request: PushRequest,
    signal: AbortSignal,
  ): Promise<AttemptOutcome> {
    const attempt = startAttemptSpan(this.#options.tracer, agent, head);
    if (attempt === undefined) return this.#send(head, request, signal);
    const headers = { ...request.headers, ...traceHeadersOf(attempt.context) };
    const outcome = await this.#send(head, { ...request, headers }, signal);
    attempt.end(outcome);
    return outcome;
  }

  async #send(head: LaneHead, request: PushRequest, signal: AbortSignal): Promise<AttemptOutcome> {
    const timeouts = { totalMs: this.#timeoutMs, headersMs: this.#timeoutMs };
    try {
      const answer = await this.#options.egress.post({ url: head.config.url, ...request, signal, timeouts });
      return judgeResponse(answer.status, answer.headers, answer.decision, Date.now());
    } catch (error) {
      return judgeError(error);
    }
  }

  #settlementOf(agent: string, head: LaneHead, outcome: AttemptOutcome, durationMs: number): Settlement {
    const { decisions, metrics } = this.#options;
    if (outcome.kind === "interrupted") return { verb: "wait", waitMs: 0, reserved: true };
    const attempt = head.attempts + 1;
    const { decision } = outcome;
    if (decision !== undefined) decisions.record(decision, "delivery", agent);
    metrics.observe("baton_push_attempt_seconds", durationMs / 1000);
    const common = { at: Date.now(), attempt, durationMs, host: head.config.host, decision };
    if (outcome.kind === "delivered") {
      metrics.count("baton_push_attempts_total", { outcome: "delivered", reason: "" });
      metrics.count("baton_push_outcomes_total", { outcome: "delivered", reason: "" });
      metrics.observe("baton_push_delay_seconds", Math.max(0, Date.now() - head.committedAt) / 1000);
      return {
        verb: "delivered",
        log: attemptNote({ ...common, outcome: "delivered", status: outcome.status }),
      };
    }
    const { reason, retryable, status, code, retryAfterMs } = outcome;
    metrics.count("baton_push_attempts_total", { outcome: "failed", reason });
    const waitMs = retryable ? retryDelay(this.#retry, attempt, retryAfterMs) : undefined;
    const note = attemptNote({
      ...common,
      outcome: "failed",
      reason,
      ...(status === undefined ? {} : { status }),
      ...(code === undefined ? {} : { code }),
      ...(waitMs === undefined ? {} : { nextInMs: Math.round(waitMs) }),
    });
    this.#options.log.warn(
      { agent, task: head.taskId, config: head.config.id, seq: head.seq, attempt, reason, status, waitMs },
      waitMs === undefined ? "push given up" : "push attempt failed",
    );
    if (waitMs !== undefined) return { verb: "retry", waitMs, note, log: note };
    metrics.count("baton_push_outcomes_total", { outcome: "dead", reason });
    return { verb: "dead", reason, note, log: note };
  }

  /** Ends a push without an attempt. */
  #giveUp(agent: string, head: LaneHead, reason: FailureReason): Settlement {
    const { log, metrics } = this.#options;
    const { taskId: task, seq, config } = head;
    log.warn({ agent, task, config: config.id, seq, attempt: head.attempts, reason }, "push given up");
    metrics.count("baton_push_outcomes_total", { outcome: "dead", reason });
    return { verb: "dead", reason, note: "", log: "" };
  }

  #secretOf(agent: string, head: LaneHead): PushSecret | FailureReason {
    const { config, sealed } = head;
    if (config.sealed !== true) return {};
    if (sealed === "") return "credential_gone";
    return this.#options.box.open(sealed, secretBinding(agent, config)) ?? "credential_unreadable";
  }

  #requestOf(agent: string, head: LaneHead, secret: PushSecret): PushRequest | undefined {
    try {
      return pushRequest(head, secret, this.#options.printers, this.#options.contentOf(agent));
    } catch (error) {
      const { taskId: task, seq } = head;
      this.#options.log.error({ agent, task, seq, err: error }, "push cannot be written");
      return undefined;
    }
  }
}

/** A credential as opened for one stay in a lane; opened anew where it was replaced. */
interface OpenedSecret {
  readonly sealed: string;
  readonly url: string;
  readonly secret: PushSecret | FailureReason;
}

function waitOf(state: LaneState): number | undefined {
  return state.kind === "busy" ? Math.min(state.waitMs, 1000) : undefined;
}

function resultOf(outcome: AttemptOutcome): "good" | "bad" | "slow" {
  if (outcome.kind === "delivered") return "good";
  return outcome.kind === "failed" && outcome.reason === "timeout" ? "slow" : "bad";
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
