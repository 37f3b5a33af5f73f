import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  GetDeadLetterResponseSchema,
  GetPushStatusResponseSchema,
  ListDeadLettersResponseSchema,
  ListPushAttemptsResponseSchema,
  PurgeDeadLettersResponseSchema,
  type PushLaneSchema,
  type PushService,
  ReplayDeadLettersResponseSchema,
} from "../../../gen/baton/admin/v1/push_pb.js";
import { BatonError, invalidParams } from "../../domain/errors.ts";
import { readNote } from "../../push/attempt-note.ts";
import type { Push } from "../../push/push.ts";
import type { LaneView } from "../../store/push-lanes.ts";
import type { AgentDirectory } from "../agents.ts";
import type { Handlers } from "../call.ts";
import { namedAgent } from "./named-agent.ts";
import { attemptView, letterView } from "./push-views.ts";

export interface PushServiceOptions {
  /** Absent: push is not offered. */
  readonly push: Push | undefined;
  readonly agents: AgentDirectory;
}

const FALLBACK_LIMIT = 100;

/** What operators see and do about pushes; see baton/admin/v1/push.proto for each call. */
export function createPushService(options: PushServiceOptions): Handlers<typeof PushService> {
  const { agents } = options;

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
      const agent = namedAgent(agents, request.agent).name;
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
      const agent = namedAgent(agents, request.agent).name;
      const lines = await offered().deadLetters.attempts(agent, limitOf("limit", request.limit, 10_000));
      const wanted = lines.filter(({ taskId }) => request.taskId === "" || taskId === request.taskId);
      return create(ListPushAttemptsResponseSchema, {
        attempts: wanted.flatMap(({ taskId, seq, note }) => attemptView(taskId, seq, readNote(note)) ?? []),
      });
    },

    async listDeadLetters(request) {
      const letters = await offered().deadLetters.list(namedAgent(agents, request.agent).name, {
        limit: limitOf("limit", request.limit, 1000),
        ...(request.taskId === "" ? {} : { taskId: request.taskId }),
        ...(request.since === undefined ? {} : { since: timestampMs(request.since) }),
        ...(request.before === undefined ? {} : { before: timestampMs(request.before) }),
      });
      return create(ListDeadLettersResponseSchema, { deadLetters: letters.map(letterView) });
    },

    async getDeadLetter(request) {
      const letter = await offered().deadLetters.get(namedAgent(agents, request.agent).name, request.id);
      if (letter === undefined) throw new BatonError("NotFound", "dead letter not found");
      return create(GetDeadLetterResponseSchema, { deadLetter: letterView(letter) });
    },

    async replayDeadLetters(request, call) {
      const agent = namedAgent(agents, request.agent).name;
      const push = offered();
      const ids = await chosen(agent, request.ids, request.since);
      const { replayed, refused, turns } = await push.deadLetters.replay(agent, ids, call.caller.name);
      await push.queue(agent, turns);
      return create(ReplayDeadLettersResponseSchema, { replayed, refused });
    },

    async purgeDeadLetters(request) {
      const agent = namedAgent(agents, request.agent).name;
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
