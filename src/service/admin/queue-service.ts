import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  ListQueuesResponseSchema,
  ListWorkersResponseSchema,
  type QueueSchema,
  type QueueService,
} from "../../../gen/baton/admin/v1/queue_pb.js";
import { invalidParams } from "../../domain/errors.ts";
import type { RedisConnection } from "../../store/connection.ts";
import type { EndpointRecord } from "../../store/endpoint-records.ts";
import type { EndpointStore } from "../../store/endpoints.ts";
import { queueDepth } from "../../store/queue-depths.ts";
import { readWorkers } from "../../store/workers.ts";
import type { AgentDirectory, ServedAgent } from "../agents.ts";
import type { Handlers } from "../call.ts";
import { namedAgents } from "./named-agent.ts";
import { timeField } from "./task-views.ts";
import { gatherWorkers } from "./worker-views.ts";

export interface QueueServiceOptions {
  readonly redis: RedisConnection;
  readonly agents: AgentDirectory;
  readonly endpoints: EndpointStore;
  /** Sends of one endpoint: on average in a second, and at once; 0 for no limit. */
  readonly send: { readonly perSecond: number; readonly burst: number };
}

/** Workers of an agent, and todos of a queue, that are looked at. */
const MAX_WORKERS = 1000;
const MAX_ENDPOINTS = 1000;
/** A worker that was seen so long ago, in milliseconds, works here. */
const AT_WORK_MS = 5 * 60 * 1000;

/** What operators see of queues and of those who work on them; see baton/admin/v1/queue.proto for each call. */
export function createQueueService(options: QueueServiceOptions): Handlers<typeof QueueService> {
  const { redis, agents, endpoints, send } = options;

  function agentsWithQueues(name: string): readonly ServedAgent[] {
    return namedAgents(agents, name).filter(({ config }) => config.backend === "todo");
  }

  async function queuesOf(agent: ServedAgent, known: readonly EndpointRecord[], now: number) {
    const { name, config } = agent;
    const { seen, held } = await readWorkers(redis, name, config.queues, MAX_WORKERS);
    const atWork = (queue: string): number => {
      const recent = seen.filter((worker) => worker.at > now - AT_WORK_MS);
      const here = [...recent, ...held].filter((each) => each.queue === queue);
      return new Set(here.map((each) => `${each.endpointId} ${each.name}`)).size;
    };
    const submitters = (queue: string): number =>
      known.filter(
        (endpoint) =>
          endpoint.agent === name &&
          endpoint.verbs.includes("create_for") &&
          endpoint.queues.includes(queue) &&
          endpoint.revokedAt === undefined &&
          (endpoint.expiresAt === undefined || endpoint.expiresAt > now),
      ).length;
    return Promise.all(
      [...config.queues].sort().map(async (queue): Promise<MessageInitShape<typeof QueueSchema>> => {
        const depth = await queueDepth(redis, name, queue);
        const counts = Object.entries(depth.counts).map(([state, count]) => [state, BigInt(count)]);
        return {
          agent: name,
          name: queue,
          depth: Object.fromEntries(counts),
          ...timeField("oldestReadyAt", depth.oldestReadyAt),
          ...timeField("nextLeaseExpiryAt", depth.nextLeaseExpiryAt),
          ...timeField("oldestWaitingAt", depth.oldestWaitingAt),
          workers: atWork(queue),
          submitters: submitters(queue),
          sendsPerSecond: send.perSecond,
          sendBurst: send.burst,
        };
      }),
    );
  }

  return {
    async listQueues(request) {
      const named = agentsWithQueues(request.agent);
      const known = await endpoints.list(MAX_ENDPOINTS);
      const now = Date.now();
      const queues = await Promise.all(named.map((agent) => queuesOf(agent, known, now)));
      return create(ListQueuesResponseSchema, { queues: queues.flat() });
    },

    async listWorkers(request) {
      const named = agentsWithQueues(request.agent);
      const { queue } = request;
      if (queue !== "" && !named.some(({ config }) => config.queues.includes(queue))) {
        throw invalidParams({ field: "queue", description: "is not a queue of the agent" });
      }
      const workers = await Promise.all(
        named.map(async ({ name, config }) => {
          const found = await readWorkers(redis, name, config.queues, MAX_WORKERS);
          const all = gatherWorkers(name, found).filter(
            (worker) => queue === "" || worker.queues.includes(queue),
          );
          return all.slice(0, MAX_WORKERS);
        }),
      );
      const flat = workers.flat().sort((a, b) => (b.seenAt ?? 0) - (a.seenAt ?? 0));
      const ids = [...new Set(flat.map(({ endpointId }) => endpointId))];
      const names = new Map(
        await Promise.all(ids.map(async (id) => [id, (await endpoints.get(id))?.name ?? ""] as const)),
      );
      return create(ListWorkersResponseSchema, {
        workers: flat.map(({ seenAt, todos, ...worker }) => ({
          ...worker,
          queues: [...worker.queues],
          endpointName: names.get(worker.endpointId) ?? "",
          ...timeField("lastSeenAt", seenAt),
          todos: [...todos],
        })),
      });
    },
  };
}
