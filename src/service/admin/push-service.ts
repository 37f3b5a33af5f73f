import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  DeadLetterSchema,
  GetDeadLetterResponseSchema,
  GetPushStatusResponseSchema,
  ListDeadLettersResponseSchema,
  ListPushAttemptsResponseSchema,
  PurgeDeadLettersResponseSchema,
  type PushAttemptSchema,
  PushFailure,
  type PushLaneSchema,
  type PushService,
  ReplayDeadLettersResponseSchema,
} from "../../../gen/baton/admin/v1/push_pb.js";
import { BatonError, invalidParams } from "../../domain/errors.ts";
import { type AttemptNote, readNote } from "../../push/attempt-note.ts";
import { type FailureReason, isFailureReason } from "../../push/failure.ts";
import type { Push } from "../../push/push.ts";
import type { DeadLetter } from "../../store/push-dead-letters.ts";
import type { LaneView } from "../../store/push-lanes.ts";
import type { AgentDirectory } from "../agents.ts";
import type { Handlers } from "../call.ts";

export interface PushServiceOptions {
  /** Absent: push is not offered. */
  readonly push: Push | undefined;
  readonly agents: AgentDirectory;
}

const FAILURES: Readonly<Record<FailureReason, PushFailure>> = {
  network: PushFailure.NETWORK,
  timeout: PushFailure.TIMEOUT,
  tls: PushFailure.TLS,
  dns: PushFailure.DNS,
  protocol: PushFailure.PROTOCOL,
  status_retryable: PushFailure.STATUS_RETRYABLE,
  status_final: PushFailure.STATUS_FINAL,
  redirect: PushFailure.REDIRECT,
  egress_denied: PushFailure.EGRESS_DENIED,
  aborted_by_receiver: PushFailure.ABORTED_BY_RECEIVER,
  expired: PushFailure.EXPIRED,
  lane_full: PushFailure.LANE_FULL,
  credential_gone: PushFailure.CREDENTIAL_GONE,
  credential_unreadable: PushFailure.CREDENTIAL_UNREADABLE,
  unsendable: PushFailure.UNSENDABLE,
};

const FALLBACK_LIMIT = 100;

/** What operators see and do about pushes; see baton/admin/v1/push.proto for each call. */
export function createPushService(options: PushServiceOptions): Handlers<typeof PushService> {
  const { agents } = options;

  function agentOf(name: string): string {
    const agent = name || agents.defaultAgent;
    if (!agents.has(agent)) {
      throw invalidParams({ field: "agent", description: "names no agent of this gateway" });
    }
    return agent;
  }

  function offered(): Push {
    if (options.push === undefined) {
      throw new BatonError("PushNotificationNotSupported", "push notifications are switched off");
    }
    return options.push;
  }

  /** The letters that a replay or a purge means. */
  async function chosen(
    agent: string,
    ids: readonly string[],
    since: Timestamp | undefined,
  ): Promise<readonly string[]> {
    if (ids.length > 0 === (since !== undefined)) {
      throw invalidParams({ field: "ids", description: "give ids or since, and not both" });
    }
    return since === undefined ? ids : offered().deadLetters.idsSince(agent, timestampMs(since));
  }

  return {
    async getPushStatus(request) {
      const agent = agentOf(request.agent);
      const { push } = options;
      if (push === undefined) return create(GetPushStatusResponseSchema, { enabled: false });
      const report = await push.lanes.report(agent, limitOf("lanes", request.lanes, 1000));
      return create(GetPushStatusResponseSchema, {
        enabled: true,
        laneCount: BigInt(report.lanes),
        outboxCount: BigInt(report.outbox),
        deadLetterCount: BigInt(report.dead),
        lanes: report.oldest.map(laneView),
        egressExceptions: [...push.exceptions],
      });
    },

    async listPushAttempts(request) {
      const agent = agentOf(request.agent);
      const lines = await offered().deadLetters.attempts(agent, limitOf("limit", request.limit, 10_000));
      const wanted = lines.filter(({ taskId }) => request.taskId === "" || taskId === request.taskId);
      return create(ListPushAttemptsResponseSchema, {
        attempts: wanted.flatMap(({ taskId, seq, note }) => attemptView(taskId, seq, readNote(note)) ?? []),
      });
    },

    async listDeadLetters(request) {
      const letters = await offered().deadLetters.list(agentOf(request.agent), {
        limit: limitOf("limit", request.limit, 1000),
        ...(request.taskId === "" ? {} : { taskId: request.taskId }),
        ...(request.since === undefined ? {} : { since: timestampMs(request.since) }),
        ...(request.before === undefined ? {} : { before: timestampMs(request.before) }),
      });
      return create(ListDeadLettersResponseSchema, { deadLetters: letters.map(letterView) });
    },

    async getDeadLetter(request) {
      const letter = await offered().deadLetters.get(agentOf(request.agent), request.id);
      if (letter === undefined) throw new BatonError("NotFound", "dead letter not found");
      return create(GetDeadLetterResponseSchema, { deadLetter: letterView(letter) });
    },

    async replayDeadLetters(request, call) {
      const agent = agentOf(request.agent);
      const push = offered();
      const ids = await chosen(agent, request.ids, request.since);
      const { replayed, refused, turns } = await push.deadLetters.replay(agent, ids, call.caller.name);
      await push.queue(agent, turns);
      return create(ReplayDeadLettersResponseSchema, { replayed, refused });
    },

    async purgeDeadLetters(request) {
      const agent = agentOf(request.agent);
      const ids = await chosen(agent, request.ids, request.since);
      return create(PurgeDeadLettersResponseSchema, {
        purged: await offered().deadLetters.purge(agent, ids),
      });
    },
  };
}

function limitOf(field: string, asked: number, max: number): number {
  if (asked > max) throw invalidParams({ field, description: `must be at most ${max}` });
  return asked || FALLBACK_LIMIT;
}

function failureOf(reason: string | undefined): PushFailure {
  return reason !== undefined && isFailureReason(reason) ? FAILURES[reason] : PushFailure.UNSPECIFIED;
}

function attemptView(
  taskId: string,
  seq: number,
  note: AttemptNote | undefined,
): MessageInitShape<typeof PushAttemptSchema> | undefined {
  if (note === undefined) return undefined;
  return {
    taskId,
    sequence: BigInt(seq),
    attempt: note.attempt,
    host: note.host,
    endedAt: timestampFromMs(note.at),
    duration: durationFromMs(note.durationMs),
    delivered: note.outcome === "delivered",
    failure: failureOf(note.reason),
    httpStatus: note.status ?? 0,
    errorCode: note.code ?? "",
    ...(note.egress === undefined ? {} : { egress: { range: "", ...note.egress } }),
    ...(note.nextInMs === undefined ? {} : { nextAttemptAt: timestampFromMs(note.at + note.nextInMs) }),
  };
}

function laneView(lane: LaneView): MessageInitShape<typeof PushLaneSchema> {
  const last = attemptView(lane.taskId, 0, readNote(lane.note));
  return {
    taskId: lane.taskId,
    configId: lane.configId,
    host: lane.host,
    depth: lane.depth,
    oldestAt: timestampFromMs(lane.oldestAt),
    attempts: lane.attempts,
    ...(last === undefined ? {} : { lastAttempt: last }),
  };
}

function letterView(letter: DeadLetter) {
  const last = attemptView(letter.taskId, letter.seq, readNote(letter.note));
  const first = letter.firstAttemptAt;
  return create(DeadLetterSchema, {
    id: letter.id,
    taskId: letter.taskId,
    configId: letter.configId,
    endpointId: letter.owner,
    host: letter.host,
    sequence: BigInt(letter.seq),
    protocolVersion: letter.version,
    failure: failureOf(letter.reason),
    attempts: letter.attempts,
    committedAt: timestampFromMs(letter.committedAt),
    deadAt: timestampFromMs(letter.deadAt),
    ...(first === undefined ? {} : { firstAttemptAt: timestampFromMs(first) }),
    ...(last === undefined ? {} : { lastAttempt: last }),
  });
}
