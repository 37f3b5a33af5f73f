/** The people of a scenario: peers that call the agent through the driver, and a worker that does the work. */
import { randomUUID } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import {
  type ListTasksResponse,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { CallOptions, Driver, OpenStream, Reply, StreamOperation, UnaryOperation } from "./driver.ts";

/** A message of the user as ProtoJSON; `extra` is laid over it. */
export function message(text: string, extra: JsonObject = {}): JsonObject {
  return { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...extra };
}

/** A client of the agent. */
export class Peer {
  readonly driver: Driver;
  readonly options: CallOptions;

  constructor(driver: Driver, options: CallOptions) {
    this.driver = driver;
    this.options = options;
  }

  /** The same peer with other call options. */
  with(options: Partial<CallOptions>): Peer {
    return new Peer(this.driver, { ...this.options, ...options });
  }

  call<O extends UnaryOperation>(operation: O, request: JsonObject): Promise<Reply<O>> {
    return this.driver.unary(operation, request, this.options);
  }

  /** Opens a stream; see {@link Watch}. */
  async open(operation: StreamOperation, request: JsonObject): Promise<Watch> {
    return new Watch(await this.driver.stream(operation, request, this.options));
  }

  /** Sends and waits as the protocol's default says; the answer must be a Task. */
  async send(content: JsonObject, extra: JsonObject = {}): Promise<Task> {
    const { message: answer } = await this.call("SendMessage", { message: content, ...extra });
    if (answer.payload.case !== "task") throw new Error(`A2A-29 the answer is ${answer.payload.case}`);
    return answer.payload.value;
  }

  /** Sends with `returnImmediately`. */
  start(content: JsonObject | string = "do it", extra: JsonObject = {}): Promise<Task> {
    const asked = typeof content === "string" ? message(content) : content;
    return this.send(asked, {
      ...extra,
      configuration: { returnImmediately: true, ...configurationOf(extra) },
    });
  }

  async get(id: string, extra: JsonObject = {}): Promise<Task> {
    return (await this.call("GetTask", { id, ...extra })).message;
  }

  async list(request: JsonObject = {}): Promise<ListTasksResponse> {
    return (await this.call("ListTasks", request)).message;
  }

  async cancel(id: string, extra: JsonObject = {}): Promise<Task> {
    return (await this.call("CancelTask", { id, ...extra })).message;
  }

  stream(content: JsonObject | string = "do it", extra: JsonObject = {}): Promise<Watch> {
    const asked = typeof content === "string" ? message(content) : content;
    return this.open("SendStreamingMessage", { message: asked, ...extra });
  }

  subscribe(id: string): Promise<Watch> {
    return this.open("SubscribeToTask", { id });
  }
}

function configurationOf(extra: JsonObject): JsonObject {
  const { configuration } = extra;
  return typeof configuration === "object" && configuration !== null && !Array.isArray(configuration)
    ? configuration
    : {};
}

/** One event in short: `task WORKING`, `status COMPLETED`, `artifact a1+2 last`. */
export function brief({ payload }: StreamResponse): string {
  switch (payload.case) {
    case "task":
      return `task ${TaskState[payload.value.status?.state ?? 0]}`;
    case "statusUpdate":
      return `status ${TaskState[payload.value.status?.state ?? 0]}`;
    case "artifactUpdate": {
      const { artifact, append, lastChunk } = payload.value;
      return `artifact ${artifact?.artifactId}${append ? "+" : "="}${artifact?.parts.length}${lastChunk ? " last" : ""}`;
    }
    default:
      return String(payload.case);
  }
}

/** An open stream that remembers what it saw. */
export class Watch {
  readonly seen: StreamResponse[] = [];
  readonly #stream: OpenStream;

  constructor(stream: OpenStream) {
    this.#stream = stream;
  }

  get headers(): Headers {
    return this.#stream.headers;
  }

  async next(withinMs = 10_000): Promise<StreamResponse | undefined> {
    const event = await within(
      withinMs,
      this.#stream.next(),
      () => `no event after ${this.briefs.join(", ")}`,
    );
    if (event !== undefined) this.seen.push(event);
    return event;
  }

  /** The task of the first event. */
  async task(): Promise<Task> {
    const event = await this.next();
    if (event?.payload.case !== "task") throw new Error(`A2A-82 the first event is ${event?.payload.case}`);
    return event.payload.value;
  }

  /** Reads until an event reads so in short. */
  async until(text: string): Promise<StreamResponse> {
    for (;;) {
      const event = await this.next();
      if (event === undefined) throw new Error(`the stream ended without ${text}: ${this.briefs.join(", ")}`);
      if (brief(event) === text) return event;
    }
  }

  /** Reads to the clean end; answers all events of the stream. Throws what ends it otherwise. */
  async all(): Promise<readonly StreamResponse[]> {
    while ((await this.next()) !== undefined);
    return this.seen;
  }

  /** Whether nothing arrives for a while, the end included. A stream must not be read after that. */
  async isQuiet(ms: number): Promise<boolean> {
    const nothing = Symbol("nothing");
    const outcome = await Promise.race([
      this.#stream.next().then(
        () => "something",
        () => "an error",
      ),
      new Promise((resolve) => setTimeout(resolve, ms, nothing)),
    ]);
    return outcome === nothing;
  }

  get briefs(): readonly string[] {
    return this.seen.map(brief);
  }

  close(): void {
    this.#stream.close();
  }
}

async function within<T>(ms: number, promise: Promise<T>, what: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what()} within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

export interface WorkerArtifact {
  readonly artifactId: string;
  readonly parts: readonly { readonly text: string }[];
  readonly name?: string;
}

const agentSays = (text: string) => ({
  messageId: randomUUID(),
  role: Role.AGENT,
  parts: [{ content: { case: "text" as const, value: text } }],
});

const artifactOf = ({ artifactId, parts, name = "" }: WorkerArtifact) => ({
  artifactId,
  name,
  parts: parts.map(({ text }) => ({ content: { case: "text" as const, value: text } })),
});

/** Does the work, over gRPC. */
export class TestWorker {
  readonly client: Client<typeof WorkerService>;

  constructor(transport: Transport) {
    this.client = createClient(WorkerService, transport);
  }

  async claim(id: string): Promise<void> {
    await this.client.claimById({ id, claimant: "test worker" });
  }

  async progress(id: string, text: string): Promise<void> {
    await this.client.updateStatus({ id, message: agentSays(text) });
  }

  async artifact(
    id: string,
    artifact: WorkerArtifact,
    options: { readonly append?: boolean; readonly lastChunk?: boolean } = {},
  ): Promise<void> {
    await this.client.addArtifact({ id, artifact: artifactOf(artifact), ...options });
  }

  async ask(id: string, question: string): Promise<void> {
    await this.client.requireInput({ id, message: agentSays(question) });
  }

  async askAuth(id: string, need: string): Promise<void> {
    await this.client.requireAuth({ id, message: agentSays(need) });
  }

  async complete(id: string, artifacts: readonly WorkerArtifact[] = []): Promise<void> {
    await this.client.complete({ id, artifacts: artifacts.map(artifactOf) });
  }

  async fail(id: string, text: string, options: { readonly permanent?: boolean } = {}): Promise<void> {
    await this.client.fail({ id, message: agentSays(text), permanent: options.permanent ?? true });
  }

  async reject(id: string, text: string): Promise<void> {
    await this.client.reject({ id, message: agentSays(text) });
  }

  /** Claims and completes. */
  async do(id: string, artifacts: readonly WorkerArtifact[] = []): Promise<void> {
    await this.claim(id);
    await this.complete(id, artifacts);
  }

  /** Brings a claimed-or-new task to a terminal state. */
  async end(id: string, how: "completed" | "failed" | "rejected"): Promise<void> {
    await this.claim(id);
    if (how === "completed") await this.complete(id);
    else if (how === "failed") await this.fail(id, "it broke");
    else await this.reject(id, "not for us");
  }
}

export function workerTransport(url: string, token: string): Transport {
  return createGrpcTransport({
    baseUrl: url,
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ],
  });
}

/** A value inside parsed JSON. */
export function at(
  json: JsonValue | undefined,
  ...path: readonly (string | number)[]
): JsonValue | undefined {
  let place = json;
  for (const step of path) place = (place as Record<string | number, JsonValue> | undefined)?.[step];
  return place;
}
