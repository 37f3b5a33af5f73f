/** One target for each parser that a peer can reach: what it is fed, and what must hold for every input. */
import {
  type DescMessage,
  type DescService,
  fromJson,
  type JsonObject,
  type JsonValue,
  toBinary,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { A2AService as V03 } from "../../gen/a2a/v1/a2a_pb.js";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError } from "../../src/domain/errors.ts";
import { openPageToken, sealPageToken } from "../../src/domain/page-token.ts";
import { RESUMABLE_STREAMS_URI, resume } from "../../src/service/resumable-streams.ts";
import { encodeSse } from "../../src/transports/sse.ts";
import { RawGrpc } from "./grpc-client.ts";
import { type Injection, inject } from "./inject.ts";
import { applyCuts, bentJson, type Cut } from "./json-inputs.ts";
import { Breach, checkConnect, checkGrpc, checkJsonRpc, checkRest } from "./oracle.ts";
import { LEGACY_BODIES, LEGACY_PARAMS, LEGACY_REQUESTS, REQUESTS } from "./seeds.ts";
import type { World } from "./world.ts";

export interface Target<I = unknown> {
  readonly name: string;
  readonly inputs: fc.Arbitrary<I>;
  /** Feeds one input; throws where something happened that must not. */
  open(world: World): { run(input: I): Promise<void>; close(): void };
}

/** Texts that may stand in a header. */
const headerText = fc.oneof(
  fc.constantFrom(
    "",
    "1.0",
    "0.3",
    "1.0.1",
    "99.0",
    "abc",
    "0",
    "3",
    "5",
    "6",
    "-1",
    "1e3",
    RESUMABLE_STREAMS_URI,
  ),
  fc.string({ unit: fc.constantFrom(..."abz019 ,;:/=+-_%\"'<>{}[]é"), maxLength: 20 }),
);

const HEADER_NAMES = [
  "a2a-version",
  "a2a-extensions",
  "x-a2a-extensions",
  "a2a-last-event-id",
  "last-event-id",
  "accept",
  "content-encoding",
  "traceparent",
  "connect-timeout-ms",
  "grpc-timeout",
  "grpc-encoding",
  "connect-content-encoding",
] as const;

const moreHeaders = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.dictionary(fc.constantFrom(...HEADER_NAMES), headerText, { maxKeys: 3 }),
  },
);

function jsonType(usual: string): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.constant(usual) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "application/a2a+json",
        "text/plain",
        "",
        "application/json; charset=latin1",
      ),
    },
  );
}

const HOST = { host: "gateway.example", authorization: "Bearer x" };

function httpTarget(
  name: string,
  inputs: fc.Arbitrary<Injection>,
  check: typeof checkRest,
): Target<Injection> {
  return {
    name,
    inputs,
    open: (world) => ({
      async run(input) {
        const answer = await inject(world.handlers, input);
        if (answer !== undefined) check(answer);
      },
      close() {},
    }),
  };
}

const rpcNames = (methods: Readonly<Record<string, JsonObject>>): readonly JsonValue[] =>
  Object.entries(methods).map(([method, params]) => ({ jsonrpc: "2.0", id: "a-1", method, params }));

function jsonRpcInputs(seeds: readonly JsonValue[]): fc.Arbitrary<Injection> {
  return fc
    .record({
      type: jsonType("application/json"),
      more: moreHeaders,
      body: bentJson(seeds),
      url: fc.constantFrom("/", "/", "/acme", "/acme/", "/nobody", "/%61cme", "/?A2A-Version=1.0", "/%"),
    })
    .map(({ type, more, body, url }) => ({
      method: "POST",
      url,
      headers: { ...HOST, "content-type": type, ...more },
      body,
    }));
}

const PIECES = [
  "tasks",
  "t1",
  "acme",
  "nobody",
  "message:send",
  "message:stream",
  "t1:cancel",
  "t1:subscribe",
  "t%3Asubscribe",
  "t%2F1",
  "%",
  "%ff",
  "%00",
  "%F0%9F%98%80",
  "..",
  ".",
  "",
  "pushNotificationConfigs",
  "p1",
  "extendedAgentCard",
  "v1",
  "card",
  ":cancel",
  "a:b:cancel",
  "__proto__",
] as const;

const PATHS = [
  ["message:send"],
  ["message:stream"],
  ["tasks"],
  ["tasks", "t1"],
  ["tasks", "t1:cancel"],
  ["tasks", "t1:subscribe"],
  ["tasks", "t1", "pushNotificationConfigs"],
  ["tasks", "t1", "pushNotificationConfigs", "p1"],
  ["extendedAgentCard"],
  ["card"],
] as const;

const QUERY_NAMES = [
  "historyLength",
  "history_length",
  "pageSize",
  "pageToken",
  "status",
  "contextId",
  "statusTimestampAfter",
  "lastUpdatedAfter",
  "includeArtifacts",
  "tenant",
  "id",
  "task_id",
  "A2A-Version",
  "metadata",
  "message.role",
  "__proto__",
  "a.b.c",
  "",
  "%",
] as const;

const queryValue = fc.oneof(
  fc.constantFrom(
    "",
    "0",
    "1",
    "-1",
    "101",
    "1.5",
    "1e400",
    "true",
    "yes",
    "TASK_STATE_WORKING",
    "3",
    "99",
    "acme",
    "2025-01-01T00:00:00+05:30",
    "2025-01-01T00:00:00%2B05:30",
    "%",
    "%ff",
    "%00",
    "a,b",
    "1.0",
    "x.y",
  ),
  fc.string({ unit: fc.constantFrom(..."az09%+.:-_~,"), maxLength: 12 }),
);

function restInputs(prefix: string, bodies: readonly JsonValue[]): fc.Arbitrary<Injection> {
  const path = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...PATHS).map((segments) => [...segments]) },
    { weight: 1, arbitrary: fc.array(fc.constantFrom(...PIECES), { maxLength: 5 }) },
  );
  const query = fc.array(fc.tuple(fc.constantFrom(...QUERY_NAMES), queryValue), { maxLength: 4 });
  return fc
    .record({
      method: fc.constantFrom("GET", "GET", "POST", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"),
      tenant: fc.constantFrom("", "", "/acme", "/nobody"),
      path,
      slash: fc.constantFrom("", "", "", "/", "//"),
      query,
      type: jsonType("application/json"),
      more: moreHeaders,
      body: fc.oneof(fc.constant(Buffer.alloc(0)), bentJson(bodies)),
    })
    .map(({ method, tenant, path: segments, slash, query: pairs, type, more, body }) => ({
      method,
      url: `${tenant}${prefix}/${segments.join("/")}${slash}${pairs.length === 0 ? "" : `?${pairs.map((pair) => pair.join("=")).join("&")}`}`,
      headers: { ...HOST, "content-type": type, ...more },
      ...(method === "GET" || method === "HEAD" ? {} : { body }),
    }));
}

/** Requests of a service in protobuf. */
function binarySeeds(
  service: DescService,
  requests: Readonly<Record<string, JsonObject>>,
): { path: string; streams: boolean; bytes: Buffer; json: JsonObject }[] {
  return service.methods.map(({ name, input, methodKind }) => ({
    path: `/${service.typeName}/${name}`,
    streams: methodKind === "server_streaming",
    bytes: Buffer.from(bytesOf(input, requests[name] ?? {})),
    json: requests[name] ?? {},
  }));
}

function bytesOf(desc: DescMessage, json: JsonObject): Uint8Array {
  return toBinary(desc, fromJson(desc, json));
}

const cuts: fc.Arbitrary<Cut[]> = fc.array(
  fc.record({
    kind: fc.constantFrom("truncate", "insert", "drop", "flip"),
    at: fc.nat(100_000),
    byte: fc.nat(255),
  }),
  { maxLength: 4 },
);

function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const SERVICES = [...binarySeeds(A2AService, REQUESTS), ...binarySeeds(V03, LEGACY_REQUESTS)];

/** A binary message, bent before or after it is framed. */
const binaryCall = fc
  .record({
    method: fc.constantFrom(...SERVICES),
    inner: cuts,
    outer: fc.oneof({ weight: 3, arbitrary: fc.constant<Cut[]>([]) }, { weight: 1, arbitrary: cuts }),
  })
  .map(({ method, inner, outer }) => ({ method, message: applyCuts(method.bytes, inner), outer }));

const grpcInputs = fc.record({ call: binaryCall, more: moreHeaders });

type GrpcTarget = Target<{
  call: { method: (typeof SERVICES)[number]; message: Buffer; outer: Cut[] };
  more: Record<string, string>;
}>;

const grpcTarget = (name: string, path: "listener" | "connectEs"): GrpcTarget => ({
  name,
  inputs: grpcInputs,
  open(world) {
    const client = new RawGrpc(world[path].url);
    return {
      async run({ call, more }) {
        const headers = { ...HOST, "content-type": "application/grpc", ...headersOf(more) };
        const answer = await client.call(
          call.method.path,
          headers,
          applyCuts(framed(call.message), call.outer),
        );
        if (answer.http >= 500) throw new Breach(`status ${answer.http}`);
        if (answer.status === undefined) throw new Breach(`no grpc-status, HTTP ${answer.http}`);
        checkGrpc(answer.status, answer.message);
      },
      close: () => client.close(),
    };
  },
});

/** A client library would not let others through. */
function headersOf(more: Record<string, string>): Record<string, string> {
  const fits = Object.entries(more).filter(([, value]) =>
    /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value),
  );
  return Object.fromEntries(fits);
}

const webInputs = fc
  .record({ call: binaryCall, text: fc.boolean(), more: moreHeaders })
  .map(({ call: { method, message, outer }, more }) => ({
    method: "POST",
    url: method.path,
    headers: { ...HOST, "content-type": "application/grpc-web+proto", ...more },
    body: applyCuts(framed(message), outer),
  }));

const connectBinary = fc
  .record({ call: binaryCall, more: moreHeaders })
  .map(({ call: { method, message, outer }, more }) => ({
    method: "POST",
    url: method.path,
    headers: {
      ...HOST,
      "content-type": method.streams ? "application/connect+proto" : "application/proto",
      ...more,
    },
    body: applyCuts(method.streams ? framed(message) : message, outer),
  }));

const connectJson = fc.constantFrom(...SERVICES).chain((method) =>
  fc.record({ body: bentJson([method.json]), more: moreHeaders }).map(({ body, more }) => ({
    method: "POST",
    url: method.path,
    headers: {
      ...HOST,
      "content-type": method.streams ? "application/connect+json" : "application/json",
      "connect-protocol-version": "1",
      ...more,
    },
    body: method.streams ? framed(body) : body,
  })),
);

const SECRET = Buffer.alloc(32, 1);
const SEALED = sealPageToken(SECRET, "digest", { at: 1, id: "t" }, 2 ** 52);

const pageToken: Target<string> = {
  name: "page tokens",
  inputs: fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.base64String({ maxLength: 200 }),
    cuts
      .filter((list) => list.length > 0)
      .map((list) => applyCuts(Buffer.from(SEALED), list).toString("latin1")),
  ),
  open: () => ({
    async run(token) {
      try {
        openPageToken(SECRET, "digest", token, 0);
      } catch (thrown) {
        if (thrown instanceof BatonError && thrown.kind === "InvalidParams") return;
        throw thrown;
      }
      if (token !== SEALED) throw new Breach(`taken for ours: ${JSON.stringify(token)}`);
    },
    close() {},
  }),
};

const EMPTY_LOG = {
  async *pages() {},
};

const sseIds: Target<string> = {
  name: "event ids",
  inputs: fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.integer().map(String),
    fc.double().map(String),
  ),
  open: () => ({
    async run(text) {
      const found = await resume(EMPTY_LOG, { agent: "a", id: "t", seq: 5 }, text);
      if (found.kind === "replay") throw new Breach("replays what is not there");
      let wire: string;
      try {
        wire = encodeSse({ data: text, id: text });
      } catch (thrown) {
        if (thrown instanceof RangeError && /[\r\n\0]/.test(text)) return;
        throw thrown;
      }
      const lines = wire.split(/\r\n|\r|\n/);
      if (lines[0] !== `id: ${text}`) throw new Breach(`the id became ${JSON.stringify(lines[0])}`);
      if (lines.some((line) => line !== "" && !/^(id|data): /.test(line)))
        throw new Breach(`another field: ${wire}`);
    },
    close() {},
  }),
};

// The inputs of a target fit its own `run`; together they are only fed to each other.
export const TARGETS = [
  httpTarget("json-rpc", jsonRpcInputs(rpcNames(REQUESTS)), checkJsonRpc),
  httpTarget("json-rpc 0.3", jsonRpcInputs(rpcNames(LEGACY_PARAMS)), checkJsonRpc),
  httpTarget("rest", restInputs("", Object.values(REQUESTS)), checkRest),
  httpTarget("rest 0.3", restInputs("/v1", LEGACY_BODIES), checkRest),
  httpTarget("connect json", connectJson, checkConnect),
  httpTarget("connect binary", connectBinary, checkConnect),
  httpTarget("grpc-web", webInputs, checkConnect),
  grpcTarget("grpc", "listener"),
  grpcTarget("grpc by connect-es", "connectEs"),
  pageToken,
  sseIds,
] as readonly Target[];
