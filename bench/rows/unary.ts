/** Unary calls of each binding against what carries them and against the other A2A server. */
import type { Round } from "../load/main.ts";
import type { Subject, Unary } from "../load/unary.ts";
import { Program } from "../processes.ts";
import { startBenchRedis } from "../redis.ts";
import { sendTask } from "../send.ts";
import { type Bench, compare, median, type Row, type Series } from "./row.ts";
import { type Usable, type Use, withUse } from "./use.ts";

/** A server and where its calls go. */
export interface Side {
  readonly name: string;
  readonly server: Program;
  readonly subject: Subject;
}

/** What one side did in all rounds. */
export interface Ran extends Series {
  readonly values: number[];
  readonly uses: Use[];
  readonly p50: number[];
  readonly p99: number[];
  /** Shares of the second core. */
  readonly loadCpu: number[];
  readonly redisCpu: number[];
  errors: number;
}

interface World {
  readonly load: Program;
  readonly redis: Usable;
  readonly baton: Side;
  readonly sdk: Side;
  readonly sdkGrpc: Side;
  /** Other gRPC servers, by name. */
  readonly peers: readonly Side[];
  stop(): Promise<void>;
}

async function startWorld(withPeers: boolean): Promise<World> {
  const redis = await startBenchRedis();
  const server = await Program.start("server", "./servers/baton.ts", { redis: { url: redis.url } });
  const { port } = server.about as { port: number };
  const credential = await server.call<string>("vend");
  const baton: Side = {
    name: "Baton",
    server,
    subject: { port, credential, taskId: await sendTask(port, "/", credential) },
  };
  const sdkServer = await Program.start("server", "./servers/a2a-sdk.ts");
  const about = sdkServer.about as { port: number; grpcPort: number };
  const taskId = await sendTask(about.port, "/rpc", "none");
  const subject = { credential: "none", taskId, jsonrpcPath: "/rpc", restPath: "/rest" };
  const sdk: Side = { name: "@a2a-js/sdk", server: sdkServer, subject: { ...subject, port: about.port } };
  const sdkGrpc: Side = { ...sdk, subject: { ...subject, port: about.grpcPort } };
  const peers: Side[] = [];
  const files = { "node:http2": "raw-http2", "gRPC by hand": "grpc-by-hand", "grpc-js": "grpc-js" };
  for (const [name, file] of Object.entries({ ...files, "connect-node": "connect-node" })) {
    if (!withPeers) break;
    const peer = await Program.start("server", `./servers/${file}.ts`);
    const own = peer.about as { port: number; taskId?: string };
    // What only echoes is asked for the same bytes as Baton.
    const peerSubject = { port: own.port, taskId: own.taskId ?? baton.subject.taskId, credential };
    peers.push({ name, server: peer, subject: peerSubject });
  }
  const load = await Program.start("load", "./load/main.ts");
  return {
    load,
    redis,
    baton,
    sdk,
    sdkGrpc,
    peers,
    async stop() {
      await load.stop();
      for (const program of [server, sdkServer, ...peers.map((peer) => peer.server)]) await program.stop();
      await redis.stop();
    },
  };
}

/** Runs a call on each side, in turn, as often as there are rounds. */
export async function alternate(
  bench: Bench,
  { load, redis }: { readonly load: Program; readonly redis: Usable },
  call: Unary,
  sides: readonly Side[],
  connections = bench.sizes.connections,
): Promise<Ran[]> {
  const { seconds, rounds } = bench.sizes;
  const ran = sides.map(
    (): Ran => ({ values: [], uses: [], p50: [], p99: [], loadCpu: [], redisCpu: [], errors: 0 }),
  );
  const order = ({ subject }: Side, length: number) => ({ call, subject, connections, seconds: length });
  for (const side of sides) await load.call("round", order(side, seconds / 2));
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, side] of sides.entries()) {
      const work = () => load.call<Round>("round", order(side, seconds));
      const { result: found, uses } = await withUse([side.server, load, redis], () =>
        index === 0 ? bench.watch(side.server, work) : work(),
      );
      const own = ran[index];
      if (own === undefined) continue;
      own.values.push(found.perSecond);
      const [ofServer, ofLoad, ofRedis] = uses;
      if (ofServer === undefined || ofLoad === undefined || ofRedis === undefined) continue;
      own.uses.push(ofServer);
      own.loadCpu.push(ofLoad.cpu);
      own.redisCpu.push(ofRedis.cpu);
      own.p50.push(found.p50);
      own.p99.push(found.p99);
      own.errors += found.errors;
      bench.say(`${call}: ${side.name} ${found.perSecond.toFixed(0)}/s, p99 ${found.p99.toFixed(2)} ms`);
    }
  }
  return ran;
}

export function alsoOf({ p99, loadCpu, redisCpu, errors }: Ran) {
  return { loadCpu: median(loadCpu), redisCpu: median(redisCpu), p99Ms: median(p99), errors };
}

async function grpcGetTask(bench: Bench) {
  const world = await startWorld(true);
  try {
    const sides = [world.baton, world.sdkGrpc, ...world.peers];
    const [ours, sdk, raw, ...others] = await alternate(bench, world, "grpc GetTask", sides);
    if (ours === undefined || sdk === undefined || raw === undefined) throw new Error("a side is missing");
    const names = world.peers.slice(1).map(({ name }) => `${name} of node:http2`);
    const also = Object.fromEntries(
      others.map((ran, index) => [names[index] ?? "", median(ran.values) / median(raw.values)]),
    );
    const more = alsoOf(ours);
    const row = { unit: "calls/s", ours };
    return [
      compare({
        ...row,
        name: "gRPC GetTask, of node:http2",
        peerName: "node:http2",
        atLeast: 0.4,
        theirs: raw,
        also: { ...more, ...also },
      }),
      compare({
        ...row,
        name: "gRPC GetTask, of @a2a-js/sdk",
        peerName: "@a2a-js/sdk",
        atLeast: 1.2,
        theirs: sdk,
        also: more,
      }),
    ];
  } finally {
    await world.stop();
  }
}

function againstSdk(id: string, name: string, call: Unary, atLeast: number): Row {
  return {
    id,
    async run(bench) {
      const world = await startWorld(false);
      try {
        const [ours, theirs] = await alternate(bench, world, call, [world.baton, world.sdk]);
        if (ours === undefined || theirs === undefined) throw new Error("a side is missing");
        const also = alsoOf(ours);
        return [compare({ name, unit: "calls/s", peerName: "@a2a-js/sdk", atLeast, ours, theirs, also })];
      } finally {
        await world.stop();
      }
    },
  };
}

export const UNARY_ROWS: readonly Row[] = [
  { id: "grpc-get", run: grpcGetTask },
  againstSdk("jsonrpc-get", "JSON-RPC GetTask", "jsonrpc GetTask", 3),
  againstSdk("jsonrpc-send", "JSON-RPC SendMessage, returnImmediately", "jsonrpc SendMessage", 2),
  againstSdk("rest-get", "HTTP+JSON GetTask", "rest GetTask", 2),
];
