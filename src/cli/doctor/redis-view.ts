import { existsSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "redis";
import type { Config } from "../../config/schema.ts";
import { configuredTarget } from "../../server/redis-source.ts";
import type { RedisTarget } from "../../store/connection.ts";
import { type Finding, fault, warning } from "./finding.ts";
import { unreachable } from "./redis-words.ts";

/** What one server says of itself. */
export interface ServerFacts {
  readonly address: string;
  /** Fields of INFO. */
  readonly info: ReadonlyMap<string, string>;
  /** Settings of the server; undefined where the user may not read them, as at many providers. */
  readonly settings: ReadonlyMap<string, string> | undefined;
  /** How far its clock is before ours, in milliseconds; what the network may add is taken off. */
  readonly skewMs: number;
  /** The first thing that the user may not do and Baton does, if any. */
  readonly forbidden: string | undefined;
}

export interface RedisView {
  readonly kind: "embedded" | "single" | "sentinel" | "cluster";
  /** Servers that take writes; empty where none can be asked, and for an embedded one that does not run now. */
  readonly servers: readonly ServerFacts[];
  /** Why servers could not be asked, and what the sentinels or the cluster lack. */
  readonly findings: readonly Finding[];
}

const CONNECT_MS = 4000;
const NOT_RUNNING = { servers: [], findings: [] };

interface Address {
  readonly url?: string;
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly username?: string;
  readonly password?: string;
  readonly tls?: boolean;
}

type Ask = (...args: string[]) => Promise<unknown>;

export async function viewRedis(config: Config): Promise<RedisView> {
  const target = configuredTarget(config);
  if (target === undefined) {
    const path = join(config.dataDir, "redis", "redis.sock");
    const view = existsSync(path) ? await viewOne({ path }, "the embedded Redis") : NOT_RUNNING;
    // Nobody behind the socket: a Baton was killed, and the next one makes it anew.
    const gone = view.findings.some(({ found }) => found.startsWith("nothing listens"));
    return { kind: "embedded", ...(gone ? NOT_RUNNING : view) };
  }
  if (target.kind === "sentinel") return viewSentinel(target);
  if (target.kind === "cluster") return viewCluster(target);
  if (target.kind === "socket")
    return { kind: "single", ...(await viewOne({ path: target.path }, target.path)) };
  return { kind: "single", ...(await viewOne({ url: target.url }, addressOf(target.url))) };
}

async function viewOne(address: Address, name: string): Promise<Pick<RedisView, "servers" | "findings">> {
  try {
    return { servers: [await connected(address, (ask) => factsOf(name, ask))], findings: [] };
  } catch (error) {
    return { servers: [], findings: [unreachable(name, error, address.url?.startsWith("rediss:") === true)] };
  }
}

async function viewSentinel(target: Extract<RedisTarget, { kind: "sentinel" }>): Promise<RedisView> {
  const findings: Finding[] = [];
  const primaries = new Set<string>();
  for (const { host, port } of target.nodes) {
    const name = `sentinel ${host}:${port}`;
    try {
      await connected({ host, port }, async (ask) => {
        const named = await ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", target.name);
        if (!Array.isArray(named)) {
          findings.push(
            fault(`${name} knows no primary called ${target.name}`, "Correct redis.sentinel.name."),
          );
          return;
        }
        primaries.add(`${named[0]}:${named[1]}`);
        await ask("SENTINEL", "CKQUORUM", target.name).catch((error: Error) =>
          findings.push(fault(`${name} says: ${error.message}`, "Start the sentinels that are missing.")),
        );
      });
    } catch (error) {
      const { found, advice = "" } = unreachable(name, error, false);
      findings.push(warning(found, advice));
    }
  }
  if (primaries.size === 0 && !findings.some(({ outcome }) => outcome === "fault")) {
    findings.push(fault("no sentinel answers", "Correct redis.sentinel.nodes, or start them."));
  }
  if (primaries.size > 1) {
    findings.push(
      fault(
        `the sentinels name different primaries: ${[...primaries].join(", ")}`,
        "Wait until a failover has ended, then look again.",
      ),
    );
  }
  const views = await Promise.all([...primaries].map((each) => viewOne(nodeAddress(each, target), each)));
  return {
    kind: "sentinel",
    servers: views.flatMap(({ servers }) => servers),
    findings: [...findings, ...views.flatMap((view) => view.findings)],
  };
}

async function viewCluster(target: Extract<RedisTarget, { kind: "cluster" }>): Promise<RedisView> {
  const findings: Finding[] = [];
  let owners: readonly string[] | undefined;
  for (const { host, port } of target.nodes) {
    const name = `${host}:${port}`;
    try {
      owners ??= await connected(nodeAddress(name, target), async (ask) => {
        const state = fieldsOf(await ask("CLUSTER", "INFO"));
        if (state.get("cluster_state") !== "ok") {
          findings.push(
            fault(
              `the cluster says ${state.get("cluster_state")}: ${state.get("cluster_slots_ok")} of 16384 slots are served`,
              "Look at `redis-cli --cluster check`.",
            ),
          );
        }
        const slots = (await ask("CLUSTER", "SLOTS")) as [number, number, [string, number]][];
        return [...new Set(slots.map(([, , [owner, at]]) => `${owner}:${at}`))];
      });
    } catch (error) {
      const found = unreachable(name, error, target.tls === true);
      findings.push(
        found.found.includes("cluster support disabled")
          ? fault(
              `${name} is no node of a cluster`,
              "Name it with redis.url, or name the nodes of a cluster.",
            )
          : warning(found.found, found.advice ?? ""),
      );
    }
  }
  if (owners === undefined && !findings.some(({ outcome }) => outcome === "fault")) {
    findings.push(fault("no node of the cluster answers", "Correct redis.cluster.nodes, or start them."));
  }
  const views = await Promise.all((owners ?? []).map((each) => viewOne(nodeAddress(each, target), each)));
  return {
    kind: "cluster",
    servers: views.flatMap(({ servers }) => servers),
    findings: [...findings, ...views.flatMap((view) => view.findings)],
  };
}

function nodeAddress(text: string, target: Extract<RedisTarget, { kind: "sentinel" | "cluster" }>): Address {
  const colon = text.lastIndexOf(":");
  const { username, password } = target;
  return {
    host: text.slice(0, colon),
    port: Number(text.slice(colon + 1)),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(target.kind === "cluster" && target.tls === true ? { tls: true } : {}),
  };
}

async function connected<T>(address: Address, work: (ask: Ask) => Promise<T>): Promise<T> {
  const { url, host, port, path, username, password, tls } = address;
  const place =
    path !== undefined
      ? { path, tls: false as const }
      : host !== undefined && port !== undefined
        ? { host, port }
        : {};
  const client = createClient({
    ...(url === undefined ? {} : { url }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    RESP: 2,
    socket: {
      ...place,
      ...(tls === true ? { tls: true as const } : {}),
      connectTimeout: CONNECT_MS,
      // Whatever accepts and then says nothing is no Redis.
      socketTimeout: CONNECT_MS,
      reconnectStrategy: false,
    },
  });
  client.on("error", () => {});
  try {
    await client.connect();
    return await work((...args) => client.sendCommand(args));
  } finally {
    client.destroy();
  }
}

async function factsOf(address: string, ask: Ask): Promise<ServerFacts> {
  const info = fieldsOf(await ask("INFO"));
  const settings = await ask("CONFIG", "GET", "*").then(pairsOf, () => undefined);
  const before = Date.now();
  const time = (await ask("TIME")) as [string, string];
  const after = Date.now();
  const theirs = Number(time[0]) * 1000 + Number(time[1]) / 1000;
  // Between the two readings any time is possible; only what lies outside is a difference.
  const skewMs = theirs > after ? theirs - after : theirs < before ? theirs - before : 0;
  const forbidden = await ask("EVAL", "return 1", "0").then(
    () => undefined,
    (error: Error) => error.message.split("\n")[0],
  );
  return { address, info, settings, skewMs, forbidden };
}

function fieldsOf(text: unknown): ReadonlyMap<string, string> {
  const lines = String(text).split(/\r?\n/);
  return new Map(
    lines.flatMap((line) => {
      const colon = line.indexOf(":");
      return colon < 1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const];
    }),
  );
}

function pairsOf(reply: unknown): ReadonlyMap<string, string> {
  const flat = Array.isArray(reply) ? reply.map(String) : [];
  return new Map(
    flat.flatMap((key, index) => (index % 2 === 0 ? [[key, flat[index + 1] ?? ""] as const] : [])),
  );
}

/** Host and port of an address, without user and password. */
function addressOf(url: string): string {
  if (!URL.canParse(url)) return "redis.url";
  const { hostname, port } = new URL(url);
  return hostname === "" ? "redis.url" : `${hostname}:${port || "6379"}`;
}
