import type { Followers } from "../backends/openwop/followers.ts";
import { HostLink } from "../backends/openwop/host-link.ts";
import { OpenWopBackend } from "../backends/openwop/openwop-backend.ts";
import type { Config } from "../config/schema.ts";
import { type Negotiation, onceInAWhile } from "../service/negotiation-log.ts";
import type { RedisConnection } from "../store/connection.ts";
import { recordNegotiation } from "../store/negotiations.ts";
import { RunForkStore } from "../store/run-forks.ts";
import { RunStore } from "../store/runs.ts";
import type { TaskStore } from "../store/tasks.ts";

/** The agents of this gateway whose work is done by OpenWOP hosts. */
export interface OpenWopAgents {
  /** How many there are. */
  readonly size: number;
  readonly runs: RunStore;
  readonly forks: RunForkStore;
  /** The followers of each agent in this process. */
  followers(): Iterable<readonly [string, Followers]>;
  backendOf(agent: string): OpenWopBackend | undefined;
  linkOf(agent: string): HostLink | undefined;
  /** Who records how a version was agreed on with an agent (OW-9); undefined for an agent of another kind. */
  readonly onNegotiated: (agent: string) => ((negotiation: Negotiation) => void) | undefined;
  /** Begins to follow runs. */
  start(): void;
  /** Lets go of the runs, for another replica to take at once. */
  stop(): Promise<void>;
}

export function createOpenWopAgents(options: {
  readonly config: Config;
  readonly redis: RedisConnection;
  readonly tasks: TaskStore;
  onError(error: unknown): void;
}): OpenWopAgents {
  const { redis, tasks, onError } = options;
  const runs = new RunStore(redis, { taskBytes: options.config.limits.taskBytes });
  const agents = new Map<string, { readonly link: HostLink; readonly backend: OpenWopBackend }>();
  for (const [name, { backend }] of Object.entries(options.config.agents)) {
    if (backend === "todo") continue;
    const link = new HostLink(name, backend);
    link.credentials.check();
    agents.set(name, { link, backend: new OpenWopBackend({ link, runs, tasks, onError }) });
  }
  const onNegotiated = onceInAWhile((agent, negotiation) => {
    recordNegotiation(redis, agent, negotiation).catch(onError);
  });
  return {
    onNegotiated: (agent) =>
      agents.has(agent) ? (negotiation) => onNegotiated(agent, negotiation) : undefined,
    size: agents.size,
    runs,
    forks: new RunForkStore(redis),
    followers: () => [...agents].map(([name, { backend }]) => [name, backend.followers] as const),
    backendOf: (agent) => agents.get(agent)?.backend,
    linkOf: (agent) => agents.get(agent)?.link,
    start() {
      for (const { backend } of agents.values()) backend.followers.start();
    },
    async stop() {
      for (const { backend, link } of agents.values()) {
        await backend.followers.stop();
        await link.close();
      }
    },
  };
}
