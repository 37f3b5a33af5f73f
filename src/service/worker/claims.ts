/** Claims: the next todo of a queue, one by its id, and the one that follows a completion. */
import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type ClaimByIdRequest,
  type ClaimByIdResponse,
  ClaimByIdResponseSchema,
  type ClaimRequest,
  type ClaimResponse,
  ClaimResponseSchema,
} from "../../../gen/baton/worker/v1/worker_pb.js";
import { BatonError } from "../../domain/errors.ts";
import type { QueueBells } from "../../store/queue-bell.ts";
import type { Claimed, ClaimResult, NextClaim, Refusal } from "../../store/todo-records.ts";
import type { TodoStore } from "../../store/todos.ts";
import type { Call } from "../call.ts";
import type { OpenStreams } from "../open-streams.ts";
import { ClaimTurns } from "./claim-turns.ts";
import { claimWithWait } from "./claim-wait.ts";
import {
  cleanClaimant,
  fenceHash,
  holderOf,
  leaseMs,
  requireId,
  requireQueue,
  requireVerb,
  waitMs,
} from "./inputs.ts";
import { receivedTrace } from "./receive-span.ts";
import { attemptView, todoView } from "./views.ts";

export interface ClaimOptions {
  readonly todos: TodoStore;
  readonly bells: QueueBells;
  readonly streams: OpenStreams;
  readonly defaultLeaseMs: number;
}

/** NotFound or Conflict; a foreign todo and one that never was are one answer (todo-delegation.md 1.8). */
export function refused(kind: Refusal): BatonError {
  return kind === "notfound"
    ? new BatonError("NotFound", "todo not found")
    : new BatonError("Conflict", "the todo's state, holder or fence does not permit this now");
}

export interface FollowingClaim {
  /** Undefined where nothing can be given out now. */
  readonly next: NextClaim | undefined;
  answer(result: ClaimResult | undefined): ClaimResponse;
}

/** The queue of a claim that the caller may make. */
function requireClaim(request: ClaimRequest, call: Call): string {
  requireVerb(call.caller, "claim_next");
  return requireQueue(call.caller, request.queue);
}

function newLeaseToken(request: { readonly requireFence: boolean }): string {
  return request.requireFence ? randomBytes(16).toString("base64url") : "";
}

export function createClaims(options: ClaimOptions) {
  const { todos } = options;
  const turns = new ClaimTurns(options.bells);

  function claimAnswer(call: Call, result: Claimed, leaseToken: string) {
    const trace = receivedTrace(call.agent, result.todo);
    return {
      todo: todoView(call.agent, { ...result.todo, trace }),
      leaseToken,
      attemptSeq: result.todo.attemptSeq,
      priorAttempts: result.prior.map(attemptView),
    };
  }

  async function claimNext(request: ClaimRequest, call: Call, wait: number): Promise<ClaimResponse> {
    const queue = requireClaim(request, call);
    const leaseToken = newLeaseToken(request);
    // A claim that waits is let go like a stream: it must hold up neither a shutdown nor outlive its credential.
    const open = wait > 0 ? options.streams.open(call) : undefined;
    const result = await claimWithWait({
      todos,
      turns,
      agent: call.agent,
      holder: holderOf(call.caller, leaseToken),
      queue,
      ttlMs: leaseMs(request.leaseTtl, call.caller, options.defaultLeaseMs),
      claimant: cleanClaimant(request.claimant),
      waitMs: wait,
      // Looked up only by a claim that waits; making one costs.
      get signal() {
        return open?.signal ?? call.signal;
      },
      ...(call.deadlineAt === undefined ? {} : { deadlineAt: call.deadlineAt }),
    }).finally(() => open?.release());
    if (result.kind === "empty") return create(ClaimResponseSchema, {});
    if (result.kind !== "claimed") throw refused(result.kind);
    return create(ClaimResponseSchema, claimAnswer(call, result, leaseToken));
  }

  /** What a completion is to claim in the same unit, and how its result is told. It does not wait for work. */
  function following(request: ClaimRequest, call: Call): FollowingClaim {
    const queue = requireClaim(request, call);
    const leaseToken = newLeaseToken(request);
    const next = {
      queue,
      claimant: cleanClaimant(request.claimant),
      fence: fenceHash(leaseToken),
      ttlMs: leaseMs(request.leaseTtl, call.caller, options.defaultLeaseMs),
    };
    // A todo for a client that went away would lie there until its lease runs out (SB-72).
    const useless = options.streams.draining || call.signal.aborted;
    return {
      next: useless ? undefined : next,
      answer: (result) =>
        create(ClaimResponseSchema, result?.kind === "claimed" ? claimAnswer(call, result, leaseToken) : {}),
    };
  }

  async function claimById(request: ClaimByIdRequest, call: Call): Promise<ClaimByIdResponse> {
    requireVerb(call.caller, "claim");
    const leaseToken = newLeaseToken(request);
    const result = await todos.claim(call.agent, holderOf(call.caller, leaseToken), {
      queue: "",
      id: requireId(request.id),
      ttlMs: leaseMs(request.leaseTtl, call.caller, options.defaultLeaseMs),
      claimant: cleanClaimant(request.claimant),
    });
    if (result.kind === "empty") throw refused("conflict");
    if (result.kind !== "claimed") throw refused(result.kind);
    return create(ClaimByIdResponseSchema, claimAnswer(call, result, leaseToken));
  }

  return {
    claim: (request: ClaimRequest, call: Call) => claimNext(request, call, waitMs(request.wait)),
    claimById,
    following,
  };
}
