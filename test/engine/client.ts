/** Clients of a running gateway, over gRPC. */
import { randomUUID } from "node:crypto";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import {
  A2AService,
  type Message,
  MessageSchema,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";

export function bearer(url: string, token: string): Transport {
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

export function says(text: string, extra: Partial<Message> = {}): Message {
  return create(MessageSchema, {
    messageId: randomUUID(),
    role: Role.USER,
    parts: [{ content: { case: "text", value: text } }],
    ...(extra as object),
  });
}

export function agentSays(text: string): Message {
  return says(text, { role: Role.AGENT });
}

export function textOf(message: Message | undefined): string {
  const part = message?.parts[0];
  return part?.content.case === "text" ? part.content.value : "";
}

export interface Sender {
  readonly client: Client<typeof A2AService>;
  /** Sends without waiting; answers the task as it was stored. */
  send(
    text: string,
    options?: { readonly metadata?: JsonObject; readonly message?: Partial<Message> },
  ): Promise<Task>;
  get(id: string): Promise<Task>;
  state(id: string): Promise<string>;
}

export function senderOf(url: string, token: string): Sender {
  const client = createClient(A2AService, bearer(url, token));
  const get = (id: string) => client.getTask({ id });
  return {
    client,
    async send(text, options = {}) {
      const { payload } = await client.sendMessage({
        message: says(text, options.message),
        configuration: { returnImmediately: true },
        ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
      });
      if (payload.case !== "task") throw new Error(`answered with ${payload.case}`);
      return payload.value;
    },
    get,
    async state(id) {
      return stateName((await get(id)).status?.state);
    },
  };
}

export function workerOf(url: string, token: string): Client<typeof WorkerService> {
  return createClient(WorkerService, bearer(url, token));
}

export function stateName(state: TaskState | undefined): string {
  return TaskState[state ?? 0] ?? "?";
}

/** One event in short: `task WORKING`, `status COMPLETED`, `artifact a1`. */
export function brief({ payload }: StreamResponse): string {
  if (payload.case === "task" || payload.case === "statusUpdate") {
    const what = payload.case === "task" ? "task" : "status";
    return `${what} ${stateName(payload.value.status?.state)}`;
  }
  return payload.case === "artifactUpdate"
    ? `artifact ${payload.value.artifact?.artifactId}`
    : `${payload.case}`;
}

/** A stream that is read in the background, remembering what came and how it ended. */
export class Reading {
  readonly seen: StreamResponse[] = [];
  error: unknown;
  readonly done: Promise<void>;
  readonly #abort = new AbortController();
  #arrived = Promise.withResolvers<void>();

  constructor(open: (signal: AbortSignal) => AsyncIterable<StreamResponse>) {
    this.done = (async () => {
      try {
        for await (const event of open(this.#abort.signal)) {
          this.seen.push(event);
          this.#wake();
        }
      } catch (error) {
        this.error = error;
      }
      this.#wake();
    })();
  }

  #wake(): void {
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers();
  }

  get briefs(): string[] {
    return this.seen.map(brief);
  }

  /** Waits until something that reads so in short has come. */
  async until(text: string, withinMs = 15_000): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () =>
        late.reject(
          new Error(`no "${text}" within ${withinMs} ms: ${this.briefs.join(", ")} ${this.error ?? ""}`),
        ),
      withinMs,
    );
    try {
      while (!this.briefs.includes(text)) await Promise.race([this.#arrived.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  stop(): void {
    this.#abort.abort();
  }
}
