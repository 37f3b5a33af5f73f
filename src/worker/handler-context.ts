import { isMessage, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Attempt,
  type ClaimRequestSchema,
  type ClaimResponse,
  type Todo,
  TodoState,
} from "../../gen/baton/worker/v1/worker_pb.js";
import { type Artifact, ArtifactSchema, type Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type ArtifactLabels, artifact, type Content, messageOf, textOf } from "./content.ts";
import type { TodoContext } from "./context.ts";
import { verdictOf } from "./errors.ts";
import type { Hold } from "./hold.ts";
import type { TraceHeaders } from "./trace.ts";

/** The context of a handler, over the hold on its todo. */
export class HandlerContext implements TodoContext {
  readonly todo: Todo;
  readonly text: string;
  readonly priorAttempts: readonly Attempt[];
  readonly #hold: Hold;

  constructor(hold: Hold, priorAttempts: readonly Attempt[]) {
    this.#hold = hold;
    this.todo = hold.todo;
    this.text = textOf(hold.todo.message);
    this.priorAttempts = priorAttempts;
  }

  get signal(): AbortSignal {
    return this.#hold.signal;
  }

  get traceHeaders(): TraceHeaders {
    return this.#hold.trace.activeHeaders;
  }

  async progress(what: Content | Message): Promise<void> {
    const { calls, identity } = this.#hold;
    const request = { ...identity, message: messageOf(what) };
    await this.#hold.act((options) => calls.updateStatus(request, options));
  }

  async artifact(content: Content | Artifact, labels: ArtifactLabels = {}): Promise<string> {
    const { calls, identity } = this.#hold;
    const whole = isMessage(content, ArtifactSchema) ? content : artifact(content, labels);
    const request = { ...identity, artifact: identified(whole), lastChunk: true };
    await this.#hold.act((options) => calls.addArtifact(request, options));
    return request.artifact.artifactId;
  }

  async appendArtifact(
    id: string,
    content: Content,
    options: { readonly last?: boolean } = {},
  ): Promise<void> {
    const { calls, identity } = this.#hold;
    const request = {
      ...identity,
      artifact: artifact(content, { id }),
      append: true,
      lastChunk: options.last ?? false,
    };
    await this.#hold.act((callOptions) => calls.addArtifact(request, callOptions));
  }

  async requireInput(question: Content | Message): Promise<Message> {
    const asked = await this.#interrupt("requireInput", TodoState.INPUT_REQUIRED, messageOf(question));
    return this.#hold.inbox.firstAfter(asked, this.signal);
  }

  async requireAuth(
    request: Content | Message,
    options: { readonly granted?: Promise<unknown> } = {},
  ): Promise<Message | undefined> {
    const asked = await this.#interrupt("requireAuth", TodoState.AUTH_REQUIRED, messageOf(request));
    const reply = this.#hold.inbox.firstAfter(asked, this.signal);
    if (options.granted === undefined) return reply;
    // Whichever comes second must not end the process as an unhandled rejection.
    reply.catch(() => {});
    const first = await Promise.race([reply, options.granted.then(() => undefined)]);
    if (first !== undefined) return first;
    await this.progress("The authorization was granted.");
    this.#hold.lease.resume();
    return undefined;
  }

  async messages(): Promise<readonly Message[]> {
    const { calls, identity } = this.#hold;
    const answer = await this.#hold.act((options) => calls.getMessages({ id: identity.id }, options));
    return answer.messages;
  }

  async reject(reason: Content | Message): Promise<void> {
    const { calls, identity } = this.#hold;
    const request = { ...identity, message: messageOf(reason) };
    await this.#hold.settle("rejected", [TodoState.REJECTED], (options) => calls.reject(request, options));
  }

  async fail(
    options: {
      readonly reason?: Content | Message;
      readonly permanent?: boolean;
      readonly summary?: string;
    } = {},
  ): Promise<void> {
    const { calls, identity } = this.#hold;
    const { reason, permanent = false, summary = "" } = options;
    const message = reason === undefined ? {} : { message: messageOf(reason) };
    const request = { ...identity, ...message, permanent, summary };
    const states = [TodoState.PENDING, TodoState.FAILED];
    await this.#hold.settle("failed", states, (callOptions) => calls.fail(request, callOptions));
  }

  async release(summary = ""): Promise<void> {
    const { calls, identity } = this.#hold;
    const request = { ...identity, summary };
    await this.#hold.settle("released", [TodoState.PENDING], (options) => calls.release(request, options));
  }

  /** Delivers the result and ends the todo as done; answers what `claimNext` claimed in the same call. */
  async complete(
    artifacts: readonly Artifact[],
    claimNext: MessageInitShape<typeof ClaimRequestSchema> | undefined,
  ): Promise<ClaimResponse | undefined> {
    const { calls, identity } = this.#hold;
    const request = { ...identity, artifacts: artifacts.map(identified) };
    let wanted = claimNext === undefined ? {} : { claimNext };
    let next: ClaimResponse | undefined;
    await this.#hold.settle("completed", [TodoState.DONE], async (options) => {
      const first = { ...request, ...wanted };
      // An earlier try may have been carried out: to claim with each would leave what that one claimed to its lease.
      wanted = {};
      ({ next } = await calls.complete(first, options));
    });
    return next;
  }

  /** Interrupts the task; answers the position after which the reply comes. */
  async #interrupt(
    method: "requireInput" | "requireAuth",
    state: TodoState,
    message: Message,
  ): Promise<bigint> {
    const { calls, identity, inbox, todo, lease } = this.#hold;
    const before = inbox.position;
    // The reply comes by the watch.
    this.#hold.watch();
    return this.#hold.act(async (options, repeated) => {
      try {
        const answer = await calls[method]({ ...identity, message }, options);
        lease.suspend();
        return answer.todo?.messageCount ?? before;
      } catch (error) {
        if (!repeated || verdictOf(error) !== "conflict") throw error;
        // Perhaps an earlier try was carried out and only its answer was lost; the client may even have replied since.
        const now = await this.#hold.read();
        const asked = now?.state === state || (now?.messageCount ?? 0n) > before;
        if (now?.attempt !== todo.attempt || !asked) throw error;
        return before;
      }
    });
  }
}

/** The id is made here and not by the gateway, so that a retry replaces what a lost answer may have stored. */
function identified(artifact: Artifact): Artifact {
  if (artifact.artifactId === "") artifact.artifactId = crypto.randomUUID();
  return artifact;
}
