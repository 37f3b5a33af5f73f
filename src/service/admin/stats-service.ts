import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs, timestampNow } from "@bufbuild/protobuf/wkt";
import {
  type AgentStatsSchema,
  GetStatsResponseSchema,
  RedisMode,
  type RedisServerSchema,
  type StatsService,
} from "../../../gen/baton/admin/v1/stats_pb.js";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Push } from "../../push/push.ts";
import type { RedisConnection, RedisTarget } from "../../store/connection.ts";
import { agentPrefix } from "../../store/keys.ts";
import type { OperatorTaskStore } from "../../store/operator-tasks.ts";
import { queueDepth } from "../../store/queue-depths.ts";
import { type RedisInfo, readRedisServers } from "../../store/redis-facts.ts";
import type { Replicas } from "../../store/replicas.ts";
import type { AgentDirectory, ServedAgent } from "../agents.ts";
import type { Handlers } from "../call.ts";
import { namedAgents } from "./named-agent.ts";
import { timeField } from "./task-views.ts";

export interface StatsServiceOptions {
  readonly redis: RedisConnection;
  readonly redisKind: RedisTarget["kind"];
  readonly agents: AgentDirectory;
  readonly tasks: Pick<OperatorTaskStore, "count">;
  /** Absent: push is not offered. */
  readonly push: Push | undefined;
  readonly replicas: Replicas;
  readonly version: string;
}

const MODES: Readonly<Record<RedisTarget["kind"], RedisMode>> = {
  socket: RedisMode.EMBEDDED,
  single: RedisMode.SINGLE,
  sentinel: RedisMode.SENTINEL,
  cluster: RedisMode.CLUSTER,
};

const STATES = Object.values(TaskState).filter(
  (state): state is TaskState => typeof state === "number" && state !== TaskState.UNSPECIFIED,
);

/** The numbers of the whole gateway; see baton/admin/v1/stats.proto. */
export function createStatsService(options: StatsServiceOptions): Handlers<typeof StatsService> {
  const { redis, agents, tasks, push, replicas } = options;

  async function statsOf({ name, config }: ServedAgent): Promise<MessageInitShape<typeof AgentStatsSchema>> {
    const queues = config.backend === "todo" ? config.queues : [];
    const [counts, depths, pushes] = await Promise.all([
      Promise.all(STATES.map(async (state) => ({ state, count: BigInt(await tasks.count(name, state)) }))),
      Promise.all(queues.map((queue) => queueDepth(redis, name, queue))),
      push?.lanes.report(name, 1),
    ]);
    return {
      agent: name,
      backend: config.backend === "todo" ? "todo" : "openwop",
      tasks: counts.filter(({ count }) => count > 0n),
      deadTodos: BigInt(depths.reduce((sum, { counts: { dead } }) => sum + dead, 0)),
      pushLanes: BigInt(pushes?.lanes ?? 0),
      ...timeField("oldestPushAt", pushes?.oldest[0]?.oldestAt),
      pushOutbox: BigInt(pushes?.outbox ?? 0),
      deadPushes: BigInt(pushes?.dead ?? 0),
    };
  }

  return {
    async getStats() {
      const named = namedAgents(agents, "");
      const [live, stats, servers] = await Promise.all([
        replicas.list(),
        Promise.all(named.map(statsOf)),
        readRedisServers(
          redis,
          named.map(({ name }) => agentPrefix(name)),
        ),
      ]);
      return create(GetStatsResponseSchema, {
        time: timestampNow(),
        version: options.version,
        uptime: durationFromMs(Math.floor(process.uptime() * 1000)),
        pushEnabled: push !== undefined,
        replicas: live.map(({ startedAt, seenAt, ...replica }) => ({
          ...replica,
          startedAt: timestampFromMs(startedAt),
          seenAt: timestampFromMs(seenAt),
          self: replica.id === replicas.id,
        })),
        agents: stats,
        redisMode: MODES[options.redisKind],
        redisServers: servers.map(serverView),
      });
    },
  };
}

function serverView(info: RedisInfo): MessageInitShape<typeof RedisServerSchema> {
  const text = (name: string) => info.get(name) ?? "";
  const number = (name: string) => Number(info.get(name) ?? 0);
  return {
    version: text("redis_version"),
    usedMemoryBytes: BigInt(number("used_memory")),
    maxMemoryBytes: BigInt(number("maxmemory")),
    evictionPolicy: text("maxmemory_policy"),
    evictedKeys: BigInt(number("evicted_keys")),
    appendOnly: number("aof_enabled") === 1,
    appendOnlyOk: text("aof_last_write_status") === "ok",
    connectedClients: number("connected_clients"),
    connectedReplicas: number("connected_slaves"),
    uptime: durationFromMs(number("uptime_in_seconds") * 1000),
  };
}
