import type { Config } from "../config/schema.ts";
import type { RedisConnection } from "../store/connection.ts";

/** What is looked at once Redis has answered for the first time. */
export interface ReadinessParts {
  readonly redis: RedisConnection;
  /** Redis keeps an append-only file, or need not. */
  readonly durable: boolean;
  /** Why pushes do not move; empty while they do. */
  pushProblems(): Promise<readonly string[]>;
}

/** Why the gateway should get no traffic, from its first moment to its last. */
export interface Readiness {
  /** One sentence each; empty when it should get traffic. */
  reasons(): Promise<readonly string[]>;
  /** Tells of a connection error, for what is said while Redis is waited for. */
  failed(error: unknown): void;
  /** Redis has answered. */
  begin(parts: ReadinessParts): void;
  /** Everything else has started. */
  started(): void;
  /** A shutdown has begun. */
  drain(): void;
}

const ANSWER_MS = 1000;

/** `redisName`: as in {@link nameOfRedis}. */
export function createReadiness(redisName: string): Readiness {
  let stage: "waiting" | "starting" | "started" | "draining" = "waiting";
  let parts: ReadinessParts | undefined;
  let lastError = "";
  return {
    async reasons() {
      if (stage === "draining") return ["shutting down"];
      if (parts === undefined) return [`starting: waiting for ${redisName}${lastError}`];
      if (stage === "starting") return ["starting"];
      if (!parts.durable) return [`${redisName} keeps no append-only file`];
      const answer = await Promise.race([parts.redis.run("baton:", ["PING"]).catch(() => null), noAnswer()]);
      if (answer === null) return [`${redisName} does not answer${lastError}`];
      lastError = "";
      return parts.pushProblems();
    },
    failed(error) {
      // Codes of the system only: the text of an error may hold what its server said.
      const code = (error as { code?: unknown } | null)?.code;
      if (typeof code === "string") lastError = ` (${code})`;
    },
    begin(begun) {
      parts = begun;
      lastError = "";
      stage = "starting";
    },
    started() {
      if (stage === "starting") stage = "started";
    },
    drain() {
      stage = "draining";
    },
  };
}

/** How operators know their Redis: its address, without credentials. */
export function nameOfRedis({ url, sentinel, cluster }: Config["redis"]): string {
  const places = (nodes: readonly { readonly host: string; readonly port: number }[]) =>
    nodes.map(({ host, port }) => `${host}:${port}`).join(", ");
  if (sentinel !== undefined) return `Redis ${sentinel.name} behind Sentinel at ${places(sentinel.nodes)}`;
  if (cluster !== undefined) return `Redis Cluster at ${places(cluster.nodes)}`;
  if (url === undefined) return "the embedded Redis";
  // From the last @ on, whatever stands before it.
  const host = /^(?:.*@|[a-z]+:\/\/)([^/?#]+)/s.exec(url)?.[1];
  return host === undefined ? "Redis" : `Redis at ${host}`;
}

function noAnswer(): Promise<null> {
  return new Promise((resolve) => setTimeout(resolve, ANSWER_MS, null).unref());
}
