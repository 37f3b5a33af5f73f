import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  ArtifactSchema,
  type Message,
  MessageSchema,
  Role,
  TaskPushNotificationConfigSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { parseConfig } from "../../src/config/load.ts";
import type { Caller } from "../../src/domain/caller.ts";
import type { EgressResolver } from "../../src/egress/index.ts";
import type { PushLog } from "../../src/push/decision-log.ts";
import { createPush, type Push } from "../../src/push/push.ts";
import { readSecretKey, SecretBox } from "../../src/push/secret-box.ts";
import { pushPrinters } from "../../src/server/push-printers.ts";
import type { RedisConnection, RedisTarget } from "../../src/store/connection.ts";
import type { PushVersion } from "../../src/store/push-configs.ts";
import type { Claimed, Holder } from "../../src/store/todo-records.ts";
import { TodoStore } from "../../src/store/todos.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { withAuthorityFile } from "./authority-file.ts";
import { testAuthority } from "./receiver.ts";

export const AGENT = "default";
export const SECRET_KEY = Buffer.alloc(32, 7).toString("base64");

/** Quick retries and no limits: what a test does not look at shall not slow it down. */
export const QUICK = {
  allow: [{ cidr: "127.0.0.1/32", ports: ["1024-65535"] }],
  baseSeconds: 0.02,
  capSeconds: 0.1,
  timeoutSeconds: 1,
  host: { perSecond: 0 },
  registration: { perSecond: 100_000, burst: 100_000 },
  secretKey: SECRET_KEY,
};

export interface RigOptions {
  /** Laid over {@link QUICK}. */
  readonly push?: Record<string, unknown>;
  readonly agents?: Record<string, unknown>;
  readonly resolver?: EgressResolver;
  readonly redis?: TestRedis;
  /** PEM of the receivers' authority, where another process made it. */
  readonly ca?: string;
  /** False: nothing is relayed or delivered. */
  readonly start?: boolean;
}

export interface LogLine {
  readonly level: string;
  readonly fields: object;
  readonly message: string;
}

/** Push with a real Redis and real todos, below the services: for what no client can see or cause. */
export interface PushRig {
  readonly redis: TestRedis;
  readonly connection: RedisConnection;
  readonly todos: TodoStore;
  readonly push: Push;
  readonly log: LogLine[];
  /** Another process on the same Redis. */
  replica(options?: RigOptions): Promise<PushRig>;
  register(taskId: string, config: ConfigInput, caller?: Caller, version?: PushVersion): Promise<string>;
  /** Starts a task, with a config in the send where one is given. */
  begin(config?: ConfigInput, version?: PushVersion): Promise<string>;
  claim(taskId: string): Promise<void>;
  say(taskId: string, text: string): Promise<void>;
  artifact(taskId: string, text: string): Promise<void>;
  complete(taskId: string): Promise<void>;
  cancel(taskId: string): Promise<void>;
  stop(): Promise<void>;
}

export interface ConfigInput {
  readonly url: string;
  readonly id?: string;
  readonly token?: string;
  readonly scheme?: string;
  readonly credentials?: string;
}

export function caller(id = "endpoint-1"): Caller {
  return {
    id,
    name: id,
    agent: AGENT,
    queues: ["default"],
    verbs: new Set(["create_for"]),
    capabilities: { streaming: true, push: true },
  };
}

const HOLDER: Holder = { id: "worker-1", name: "worker", queues: ["default"], fence: "" };

export function text(words: string): Message {
  return create(MessageSchema, {
    messageId: randomUUID(),
    role: Role.AGENT,
    parts: [{ content: { case: "text", value: words } }],
  });
}

export async function startRig(options: RigOptions = {}): Promise<PushRig> {
  const redis = options.redis ?? (await startTestRedis());
  const connection = await redis.connect();
  const lines: LogLine[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields, message });
  const log: PushLog = { info: write("info"), warn: write("warn"), error: write("error") };
  const target: RedisTarget = { kind: "socket", path: redis.server.socketPath };
  const push = await withAuthorityFile(options.ca ?? testAuthority().ca, (caFile) =>
    createPush({
      config: parseConfig({
        agents: options.agents ?? { [AGENT]: {} },
        push: { ...QUICK, caFiles: [caFile], ...options.push },
      }),
      redis: connection,
      target,
      box: new SecretBox(readSecretKey(SECRET_KEY)),
      printers: pushPrinters,
      log,
      ...(options.resolver === undefined ? {} : { resolver: options.resolver }),
    }),
  );
  if (options.start !== false) await push.start();
  const todos = new TodoStore(connection);

  const prepare = (input: ConfigInput, who: Caller, version: PushVersion) =>
    push.registrar.prepare({
      agent: AGENT,
      caller: who,
      version,
      path: "",
      signal: new AbortController().signal,
      config: create(TaskPushNotificationConfigSchema, {
        id: input.id ?? "",
        url: input.url,
        token: input.token ?? "",
        ...(input.scheme === undefined
          ? {}
          : { authentication: { scheme: input.scheme, credentials: input.credentials ?? "" } }),
      }),
    });
  const expectOk = (result: { readonly kind: string }) => {
    if (result.kind !== "ok" && result.kind !== "claimed") throw new Error(result.kind);
  };
  const finish = {
    artifacts: [],
    summary: "",
    summaryTruncated: false,
    artifact: "",
    permanent: false,
    reason: "",
  };

  return {
    redis,
    connection,
    todos,
    push,
    log: lines,
    replica: (more = {}) => startRig({ ...options, ...more, redis }),
    async register(taskId, input, who = caller(), version = "1.0") {
      const registration = await prepare(input, who, version);
      const viewer = { id: who.id, shared: false, queues: who.queues };
      const result = await push.configs.set(AGENT, taskId, viewer, registration, who.name);
      if (result !== "ok") throw new Error(result);
      return registration.config.id;
    },
    async begin(input, version = "1.0") {
      const id = `td_${randomUUID()}`;
      const who = caller();
      const message = create(MessageSchema, {
        messageId: randomUUID(),
        taskId: id,
        contextId: "context",
        role: Role.USER,
        parts: [{ content: { case: "text", value: "please" } }],
      });
      const result = await todos.create(AGENT, {
        id,
        owner: who.id,
        scopes: [`e:${who.id}`],
        queue: "default",
        contextId: "context",
        title: "please",
        source: "",
        kind: "",
        assignee: "",
        message,
        request: new Uint8Array(),
        maxAttempts: 5,
        messageKey: randomUUID(),
        bodyHash: "",
        idempotencyKey: "",
        historyLength: -1,
        rejectWith: undefined,
        actor: who.name,
        push: input === undefined ? undefined : await prepare(input, who, version),
      });
      if (result.kind !== "created") throw new Error(result.kind);
      return id;
    },
    async claim(taskId) {
      const claimed = await todos.claim(AGENT, HOLDER, {
        queue: "",
        id: taskId,
        ttlMs: 600_000,
        claimant: "w",
      });
      expectOk(claimed satisfies { kind: string } as Claimed);
    },
    async say(taskId, words) {
      expectOk(await todos.progress(AGENT, taskId, HOLDER, { message: text(words) }));
    },
    async artifact(taskId, words) {
      const artifact = create(ArtifactSchema, {
        artifactId: "result",
        parts: [{ content: { case: "text", value: words } }],
      });
      expectOk(await todos.progress(AGENT, taskId, HOLDER, { artifact, append: false, lastChunk: true }));
    },
    async complete(taskId) {
      const done = {
        ...finish,
        verb: "complete",
        message: undefined,
        backoff: { baseMs: 0, capMs: 0, jitter: 0 },
      } as const;
      expectOk(await todos.finish(AGENT, taskId, HOLDER, done));
    },
    async cancel(taskId) {
      const viewer = { id: caller().id, shared: false, queues: ["default"] };
      await todos.cancel(AGENT, taskId, viewer, undefined, "client");
    },
    async stop() {
      await push.stop(1000);
      if (options.redis === undefined) await redis.stop();
    },
  };
}
