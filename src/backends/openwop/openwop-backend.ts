import { randomUUID } from "node:crypto";
import { clone } from "@bufbuild/protobuf";
import { MessageSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Caller } from "../../domain/caller.ts";
import { BatonError, taskNotFound } from "../../domain/errors.ts";
import { contentHash, messageKey, titleOf } from "../../domain/message-rules.ts";
import { isReplay, replayIsNotPushed } from "../../domain/openwop/fork.ts";
import type { Interrupt } from "../../domain/openwop/interrupt.ts";
import { resumeValue } from "../../domain/openwop/resume-value.ts";
import { NEW_RUN } from "../../domain/openwop/run-fold.ts";
import {
  idempotencyKey,
  permittedPurposes,
  runInputs,
  runMetadata,
  runTags,
  traceHeaders,
} from "../../domain/openwop/run-input.ts";
import { projectStatus } from "../../domain/openwop/run-projection.ts";
import { isEnded, isWaiting } from "../../domain/openwop/run-status.ts";
import { taskTooLarge } from "../../domain/task-size.ts";
import type { RunAnswer, RunIntent, RunMessage, RunRecord } from "../../store/run-records.ts";
import type { RunStore } from "../../store/runs.ts";
import { type TaskSnapshot, type TaskStore, WHOLE_TASK } from "../../store/tasks.ts";
import type { Agent, Backend, CancelInput, RefreshInput, ReplyInput, StartInput } from "../backend.ts";
import { messageIdReused, messageRefused } from "../message-refusal.ts";
import { scopesOf, viewerOf } from "../viewer.ts";
import type { CreateRun } from "./client/client.ts";
import { didNothing, HostRefusal, isFinal } from "./client/errors.ts";
import { Followers } from "./followers.ts";
import { clientError } from "./host-faults.ts";
import type { HostLink } from "./host-link.ts";
import { requireOutputMode, workflowOf } from "./routing.ts";
import { RunSync } from "./run-sync.ts";

export interface OpenWopBackendOptions {
  readonly link: HostLink;
  readonly runs: RunStore;
  readonly tasks: TaskStore;
  onError(error: unknown): void;
}

/** Bound on what a read waits for the host, in milliseconds; then it answers what is stored. */
const REFRESH_MS = 1500;
const CREATE_ROUNDS = 3;

/**
 * Work as runs on an OpenWOP host. A task is the projection of one run and has its id; the host decides, Baton keeps
 * what clients are shown, and follows every run until it has ended.
 */
export class OpenWopBackend implements Backend {
  readonly followers: Followers;
  readonly #link: HostLink;
  readonly #runs: RunStore;
  readonly #tasks: TaskStore;
  readonly #sync: RunSync;
  readonly #holder = randomUUID();
  readonly #onError: (error: unknown) => void;

  constructor(options: OpenWopBackendOptions) {
    const { link, runs, onError } = options;
    this.#link = link;
    this.#runs = runs;
    this.#tasks = options.tasks;
    this.#onError = onError;
    this.#sync = new RunSync(link, runs);
    this.followers = new Followers({
      link,
      store: runs,
      sync: this.#sync,
      holder: this.#holder,
      finish: async (intent) => {
        await this.#make(intent.storedKey, intent, 0, false);
      },
      onError,
    });
  }

  get maxWaitMs(): number {
    return this.#link.config.maxWaitSeconds * 1000;
  }

  async start(input: StartInput): Promise<TaskSnapshot> {
    const { agent, caller, request, historyLength } = input;
    const { config } = this.#link;
    const workflowId = workflowOf(config.workflows, input.message, request.metadata);
    requireOutputMode(agent.config.card, workflowId, request.configuration?.acceptedOutputModes ?? []);
    const message = clone(MessageSchema, input.message);
    const createKey = idempotencyKey(agent.name, caller.id, message.messageId, "create");
    // Not a new one on each try: the host compares the body of a repeated request.
    const contextId = message.contextId || `ctx-${createKey.slice(-22)}`;
    message.contextId = contextId;
    const body: CreateRun = {
      workflowId,
      inputs: runInputs(message, config.inputs),
      tags: runTags(message.messageId, contextId),
      metadata: runMetadata(message, contextId),
    };
    const key = messageKey(message.messageId);
    const queue = agent.config.defaultQueue ?? agent.config.queues[0] ?? "default";
    const intent = {
      messageKey: key,
      bodyHash: contentHash(input.message, request.metadata),
      owner: caller.id,
      scopes: scopesOf(agent, caller.id, queue),
      queue,
      contextId,
      title: titleOf(message),
      message,
      credential: this.#link.credentials.nameFor(caller),
      body: JSON.stringify(body),
      idempotencyKey: createKey,
      trace: traceHeaders(message),
      purposes: permittedPurposes(message),
      actor: caller.name,
      historyLength,
      push: input.push,
    };
    const storedKey = this.#runs.storedKey(agent.name, caller.id, key);
    for (let round = 0; round < CREATE_ROUNDS; round++) {
      const result = await this.#runs.intend(agent.name, intent, this.followers.leaseMs);
      if (result.kind === "mismatch") throw messageIdReused();
      if (result.kind === "full") throw taskTooLarge("message", this.#runs.taskBytes);
      if (result.kind === "replayed") return result.snapshot;
      const isNew = result.kind === "new";
      const made = await this.#make(storedKey, isNew ? intent : result.intent, historyLength, isNew);
      if (made !== undefined) return made;
    }
    throw new BatonError("Unavailable", "the work could not be started; try again");
  }

  async reply(input: ReplyInput): Promise<TaskSnapshot> {
    const { agent, caller, taskId, request } = input;
    const viewer = viewerOf(agent, caller);
    const message: RunMessage = {
      contextId: input.message.contextId,
      message: input.message,
      messageKey: messageKey(input.message.messageId),
      bodyHash: contentHash(input.message, request.metadata),
      historyLength: input.historyLength,
      actor: caller.name,
      push: input.push,
    };
    const check = await this.#runs.checkMessage(agent.name, taskId, viewer, message);
    if (check.kind === "replayed") return check.snapshot;
    if (check.kind !== "ok" && check.kind !== "pending")
      throw messageRefused(check.kind, taskId, this.#runs.taskBytes);

    let answer: RunAnswer;
    if (check.kind === "pending") answer = check.answer;
    else {
      answer = await this.#answerTo(check.run, input);
      await this.#runs.beginMessage(agent.name, taskId, viewer, message, answer);
    }
    const { credentials, client } = this.#link;
    const key = idempotencyKey(agent.name, caller.id, input.message.messageId, `resolve ${taskId}`);
    try {
      const token = credentials.token(credentials.nameFor(caller));
      await client.resolveInterrupt(token, taskId, answer.nodeId, answer.value, key);
    } catch (error) {
      const settled = check.kind === "pending" ? isFinal(error) : didNothing(error);
      if (settled) await this.#runs.dropMessage(agent.name, taskId, viewer, message);
      if (error instanceof HostRefusal && error.status >= 404) await this.#settle(taskId);
      throw clientError(error, "resolve", taskId);
    }
    await this.#runs.addMessage(agent.name, taskId, viewer, message);
    await this.#settle(taskId);
    return this.#snapshot(agent, caller, taskId, input.historyLength);
  }

  async cancel(input: CancelInput): Promise<{ snapshot: TaskSnapshot; changed: boolean }> {
    const { agent, caller, taskId, reason } = input;
    const run = await this.#runs.read(agent.name, taskId, viewerOf(agent, caller));
    if (run === undefined) throw taskNotFound(taskId);
    let changed = !isEnded(run.view.status);
    if (changed) {
      try {
        await this.#link.client.cancelRun(this.#link.credentials.token(run.credential), taskId, reason);
      } catch (error) {
        if (!(error instanceof HostRefusal) || error.code !== "run_terminal") {
          throw clientError(error, "cancel", taskId);
        }
        changed = false;
      }
      await this.#settle(taskId);
    }
    return { snapshot: await this.#snapshot(agent, caller, taskId, -1), changed };
  }

  /** Compares a task that goes on with its run, so that a read never shows a stale state (OW-12). */
  async refresh({ agent, caller, taskId }: RefreshInput): Promise<void> {
    const run = await this.#runs.read(agent.name, taskId, viewerOf(agent, caller));
    if (run === undefined || isEnded(run.view.status)) return;
    await this.#settle(taskId, false);
  }

  /**
   * Asks the host for the run; undefined where the intent went away meanwhile. `isNew`: nobody asked before, so a refusal
   * of this time settles it.
   */
  async #make(
    storedKey: string,
    intent: RunIntent,
    historyLength: number,
    isNew: boolean,
  ): Promise<TaskSnapshot | undefined> {
    const { agent, client, credentials } = this.#link;
    let made: { runId: string; status: string };
    try {
      const body = JSON.parse(intent.body) as CreateRun;
      const token = credentials.token(intent.credential);
      made = await client.createRun(token, body, intent.idempotencyKey, intent.trace);
    } catch (error) {
      if (isNew ? didNothing(error) : isFinal(error)) await this.#runs.drop(agent, storedKey);
      throw clientError(error, "create", "");
    }
    // Whatever else the run already is comes with its events, once each.
    const status = made.status === "pending" ? "pending" : "running";
    const projected = projectStatus({ ...NEW_RUN, status }, await this.#link.rules(), {
      messageId: "",
      errorText: "",
      permittedPurposes: intent.purposes,
    });
    const result = await this.#runs.created(agent, {
      storedKey,
      runId: made.runId,
      status,
      projected,
      holder: this.#holder,
      ttlMs: this.followers.leaseMs,
      historyLength,
    });
    if (result.kind === "gone") return undefined;
    if (result.kind === "taken")
      throw new BatonError("Internal", "internal error", { cause: "run id handed out twice" });
    if (result.kind === "created") {
      const record = await this.#runs.read(agent, made.runId);
      if (record !== undefined) this.followers.adopt(record);
    }
    return result.snapshot;
  }

  /** What a reply says to the open interrupt; everything that is wrong with it is found before the host is called. */
  async #answerTo(run: RunRecord, { caller, message, request, push }: ReplyInput): Promise<RunAnswer> {
    if (push !== undefined && isReplay(run.fork)) throw replayIsNotPushed(run.id);
    const interrupt = await this.#openInterrupt(run);
    const decider = { subject: this.#link.credentials.subjectOf(caller), now: new Date() };
    const value = resumeValue(interrupt, message, request.metadata, decider);
    this.#requireEligible(interrupt, caller);
    return { nodeId: interrupt.nodeId, value };
  }

  /** The interrupt that a reply is for. A task that seems to run is compared with its host first. */
  async #openInterrupt(run: RunRecord): Promise<Interrupt> {
    let present: RunRecord | undefined = run;
    if (!isWaiting(run.view.status) || run.view.interrupt === undefined) {
      await this.#settle(run.id, false);
      present = await this.#runs.read(this.#link.agent, run.id);
    }
    const interrupt = present?.view.interrupt;
    if (present === undefined) throw taskNotFound(run.id);
    if (!isWaiting(present.view.status) || interrupt === undefined) {
      throw new BatonError("UnsupportedOperation", "the task does not wait for a message", {
        metadata: { taskId: run.id },
      });
    }
    return interrupt;
  }

  /** The host judges those it knows; everybody else must stand on the list of the interrupt itself (OW-29). */
  #requireEligible(interrupt: Interrupt, caller: Caller): void {
    const { credentials } = this.#link;
    if (interrupt.approvers.length === 0 || credentials.knowsCaller(caller)) return;
    if (!interrupt.approvers.includes(credentials.subjectOf(caller))) {
      throw new BatonError("Forbidden", "the caller is not one of the approvers");
    }
  }

  /** Takes in what the host knows, for a bounded time; what fails here is left to the follower. */
  async #settle(taskId: string, wait = true): Promise<void> {
    const work = this.#sync.catchUp(taskId, wait).catch(this.#onError);
    let timer: NodeJS.Timeout | undefined;
    const bound = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, REFRESH_MS);
    });
    await Promise.race([work, bound]);
    clearTimeout(timer);
  }

  async #snapshot(agent: Agent, caller: Caller, id: string, historyLength: number): Promise<TaskSnapshot> {
    const shape = { ...WHOLE_TASK, historyLength };
    const snapshot = await this.#tasks.read(agent.name, id, viewerOf(agent, caller), shape);
    if (snapshot === undefined) throw taskNotFound(id);
    return snapshot;
  }
}
