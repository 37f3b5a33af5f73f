/** Redis servers of a test's own: single ones, a cluster, and a primary with replica and sentinels. */
import { openSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { findRedisServer } from "../../src/redis/find-server.ts";
import { spawnSupervised } from "../../src/redis/supervised.ts";

export interface Server {
  readonly port: number;
  /** Runs one command, as text. */
  ask(...args: string[]): Promise<unknown>;
  /** SIGKILL: nothing is flushed, nobody is told. */
  kill(): Promise<void>;
  /** Starts again with what is on disk. */
  restart(): Promise<void>;
}

const nowhere = openSync("/dev/null", "w");

/** Ports that were free a moment ago; a cluster bus takes one, too. */
export async function freePorts(count: number): Promise<number[]> {
  const holders = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    holders.map(
      (holder) =>
        new Promise<number>((resolve) => {
          holder.listen(0, "127.0.0.1", () => {
            const address = holder.address();
            resolve(typeof address === "object" && address !== null ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(holders.map((holder) => new Promise((resolve) => holder.close(resolve))));
  return ports;
}

export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  withinMs = 20_000,
) {
  const until = Date.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      last = error;
    }
    if (Date.now() > until) throw new Error(`${what}: not within ${withinMs} ms`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Everything that was started here ends with `stop`, or with this process. */
export class Servers {
  readonly #folders: string[] = [];
  readonly #running: Server[] = [];

  /** A folder that goes with the servers. */
  async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "baton-node-"));
    this.#folders.push(folder);
    return folder;
  }

  async start(port: number, args: readonly string[], first: readonly string[] = []): Promise<Server> {
    const folder = await this.folder();
    const common = ["--bind", "127.0.0.1", "--port", String(port), "--dir", folder, "--save", ""];
    const spawn = () => spawnSupervised(findRedisServer(), [...first, ...common, ...args], nowhere);
    let child = spawn();
    const ask = async (...command: string[]) => {
      const client = createClient({
        socket: { host: "127.0.0.1", port, reconnectStrategy: false },
        RESP: 2,
      });
      client.on("error", () => {});
      await client.connect();
      try {
        return (await client.sendCommand(command)) as unknown;
      } finally {
        client.destroy();
      }
    };
    const up = () => eventually(`server on ${port}`, async () => (await ask("PING")) === "PONG");
    const server: Server = {
      port,
      ask,
      async kill() {
        const gone = new Promise((resolve) => child.once("exit", resolve));
        if (child.exitCode !== null || child.signalCode !== null) return;
        // Through the server itself: the supervisor between us would let it finish.
        const pid = /process_id:(\d+)/.exec(String(await ask("INFO", "server")))?.[1];
        process.kill(Number(pid), "SIGKILL");
        await gone;
      },
      async restart() {
        child = spawn();
        await up();
      },
    };
    await up();
    this.#running.push(server);
    return server;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((server) => server.kill().catch(() => {})));
    // A server that is killed in the middle of a write may make one more file.
    const gone = { recursive: true, force: true, maxRetries: 5 };
    for (const folder of this.#folders.splice(0)) await rm(folder, gone);
  }
}

export interface TestCluster {
  readonly masters: readonly Server[];
  /** A replica of the first master. */
  readonly replica: Server;
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
}

/** Three masters, and one replica of the first of them. */
export async function startCluster(servers: Servers): Promise<TestCluster> {
  const ports = await freePorts(8);
  const nodes: Server[] = [];
  for (let i = 0; i < 4; i += 1) {
    nodes.push(
      await servers.start(ports[i] ?? 0, [
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        String(ports[i + 4]),
        "--cluster-node-timeout",
        "1500",
        "--cluster-allow-replica-migration",
        "no",
        "--cluster-replica-validity-factor",
        "0",
        "--appendonly",
        "yes",
        "--repl-diskless-sync-delay",
        "0",
      ]),
    );
  }
  const [a, b, c, replica] = nodes as [Server, Server, Server, Server];
  const cuts = [0, 5461, 10_923, 16_384];
  for (const [index, node] of [a, b, c].entries()) {
    await node.ask("CLUSTER", "ADDSLOTSRANGE", String(cuts[index]), String((cuts[index + 1] ?? 0) - 1));
    await node.ask("CLUSTER", "SET-CONFIG-EPOCH", String(index + 1));
  }
  for (const [index, node] of nodes.entries()) {
    if (node !== a) await a.ask("CLUSTER", "MEET", "127.0.0.1", String(node.port), String(ports[index + 4]));
  }
  const whole = (node: Server) => async () => {
    const info = String(await node.ask("CLUSTER", "INFO"));
    return info.includes("cluster_state:ok") && info.includes("cluster_known_nodes:4");
  };
  for (const node of nodes) await eventually("the cluster is whole", whole(node));
  const id = String(await a.ask("CLUSTER", "MYID"));
  await eventually("the replica knows its master", async () => {
    await replica.ask("CLUSTER", "REPLICATE", id);
    return true;
  });
  await eventually("the replica is in step", async () =>
    String(await replica.ask("INFO", "replication")).includes("master_link_status:up"),
  );
  return { masters: [a, b, c], replica, nodes: nodes.map(({ port }) => ({ host: "127.0.0.1", port })) };
}

/**
 * Moves a slot of a cluster as an operator's tool does it: the source and target agree, keys go over one by one, then
 * everybody is told. `amid` runs when each of the two has some of the keys.
 */
export async function moveSlot(
  slot: number,
  from: Server,
  to: Server,
  amid: () => Promise<void> = async () => {},
): Promise<void> {
  const [source, target] = await Promise.all([from.ask("CLUSTER", "MYID"), to.ask("CLUSTER", "MYID")]);
  await to.ask("CLUSTER", "SETSLOT", String(slot), "IMPORTING", String(source));
  await from.ask("CLUSTER", "SETSLOT", String(slot), "MIGRATING", String(target));
  const keysLeft = async (most: number) =>
    (await from.ask("CLUSTER", "GETKEYSINSLOT", String(slot), String(most))) as string[];
  const move = (keys: readonly string[]) =>
    from.ask("MIGRATE", "127.0.0.1", String(to.port), "", "0", "5000", "KEYS", ...keys);
  const all = await keysLeft(1000);
  await move(all.slice(0, Math.ceil(all.length / 2)));
  await amid();
  for (let keys = await keysLeft(100); keys.length > 0; keys = await keysLeft(100)) await move(keys);
  for (const server of [to, from])
    await server.ask("CLUSTER", "SETSLOT", String(slot), "NODE", String(target));
}

export interface TestSentinel {
  readonly primary: Server;
  readonly replica: Server;
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  readonly name: string;
  /** Port of the server that the sentinels call the primary. */
  primaryPort(): Promise<number>;
}

/** A primary, its replica, and three sentinels that need two of them to agree. */
export async function startSentinel(servers: Servers): Promise<TestSentinel> {
  const ports = await freePorts(5);
  const [primaryPort = 0, replicaPort = 0, ...sentinelPorts] = ports;
  const data = ["--appendonly", "yes", "--repl-diskless-sync-delay", "0"];
  const primary = await servers.start(primaryPort, data);
  const replica = await servers.start(replicaPort, [
    ...data,
    "--replicaof",
    "127.0.0.1",
    String(primaryPort),
  ]);
  await eventually("the replica is in step", async () =>
    String(await replica.ask("INFO", "replication")).includes("master_link_status:up"),
  );
  const name = "baton-primary";
  const watchers: Server[] = [];
  for (const port of sentinelPorts) {
    const file = join(await servers.folder(), "sentinel.conf");
    await writeFile(
      file,
      [
        `sentinel monitor ${name} 127.0.0.1 ${primaryPort} 2`,
        `sentinel down-after-milliseconds ${name} 1000`,
        `sentinel failover-timeout ${name} 4000`,
        `sentinel parallel-syncs ${name} 1`,
        "",
      ].join("\n"),
    );
    watchers.push(await servers.start(port, ["--sentinel"], [file]));
  }
  for (const watcher of watchers) {
    await eventually("the sentinels know each other", async () => {
      const info = String(await watcher.ask("INFO", "sentinel"));
      return /sentinels=3/.test(info) && /slaves=1/.test(info);
    });
  }
  return {
    primary,
    replica,
    name,
    sentinels: sentinelPorts.map((port) => ({ host: "127.0.0.1", port })),
    async primaryPort() {
      const answer = await watchers[0]?.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name);
      return Number((answer as [string, string])[1]);
    },
  };
}
