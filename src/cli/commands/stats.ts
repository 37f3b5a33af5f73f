import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import {
  type AgentStats,
  type GetStatsResponse,
  GetStatsResponseSchema,
  RedisMode,
  StatsService,
} from "../../../gen/baton/admin/v1/stats_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../admin-options.ts";
import { ageText, durationText } from "../operator-text.ts";
import { printResult, table } from "../output.ts";
import { stateWord } from "../task-text.ts";

export function statsCommand(): Command {
  return withAdminOptions(new Command("stats"))
    .description("Show how the gateway is: replicas, tasks by state, pushes, Redis.")
    .action(async (options: AdminOptions) => {
      const stats = await withAdminService(StatsService, options, (client) => client.getStats({}));
      printResult(options.json, toJson(GetStatsResponseSchema, stats), () => statsText(stats));
    });
}

function statsText(stats: GetStatsResponse): string {
  const now = Date.now();
  const replicas = stats.replicas.map((replica) => [
    `${replica.host}${replica.self ? " *" : ""}`,
    replica.version,
    ageText(replica.startedAt, now),
    replica.ready ? "ready" : "not ready",
    String(replica.openStreams),
    String(replica.connections),
  ]);
  const agents = stats.agents.map((agent) => [
    agent.agent,
    agent.backend,
    tasksText(agent),
    String(agent.deadTodos),
    String(agent.pushLanes),
    ageText(agent.oldestPushAt, now),
    String(agent.deadPushes),
  ]);
  const servers = stats.redisServers.map((server) => [
    server.version,
    (RedisMode[stats.redisMode] ?? "").toLowerCase(),
    durationText(server.uptime),
    `${megabytes(server.usedMemoryBytes)} of ${server.maxMemoryBytes === 0n ? "any" : megabytes(server.maxMemoryBytes)}`,
    server.appendOnly ? (server.appendOnlyOk ? "yes" : "failing") : "no",
    String(server.evictedKeys),
    String(server.connectedReplicas),
  ]);
  return [
    table([["REPLICA", "VERSION", "UP", "TAKES TRAFFIC", "STREAMS", "CONNECTIONS"], ...replicas]),
    table([["AGENT", "BACK END", "TASKS", "DEAD", "PUSHING", "OLDEST PUSH", "DEAD PUSHES"], ...agents]),
    table([["REDIS", "MODE", "UP", "MEMORY", "APPEND-ONLY", "EVICTED", "REPLICAS"], ...servers]),
  ].join("\n\n");
}

function tasksText({ tasks }: AgentStats): string {
  return tasks.map(({ state, count }) => `${count} ${stateWord(state)}`).join(", ") || "none";
}

function megabytes(bytes: bigint): string {
  return `${(Number(bytes) / 1e6).toFixed(1)} MB`;
}
