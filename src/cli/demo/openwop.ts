/** The hand-off to an OpenWOP host: a run that waits for a person longer than its client, and its gateway, live. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { EndpointService } from "../../../gen/baton/admin/v1/endpoint_pb.js";
import {
  PartSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { parseConfig } from "../../config/load.ts";
import type { Config } from "../../config/schema.ts";
import { SUBMIT_VERBS } from "../../domain/caller.ts";
import { type Gateway, startGateway } from "../../server/gateway.ts";
import { connect } from "../client-options.ts";
import { stateWord } from "../task-text.ts";
import { type Bindings, openBindings } from "./bindings.ts";
import { startExampleHost } from "./example-host.ts";
import { Receiver } from "./receiver.ts";

/** A step that is ready to run. */
export interface ReadyStep {
  readonly name: string;
  run(): Promise<readonly string[]>;
}

export interface OpenWopStage {
  readonly url: string;
  readonly steps: readonly ReadyStep[];
  clear(): Promise<void>;
}

const HOST_KEY = "host-key-acme";
const HOST_KEY_VARIABLE = "BATON_DEMO_HOST_KEY";
const WORKFLOW = "conformance-approval";
const PATIENCE_MS = 10_000;

/** Starts a host in a process of its own, a receiver of pushes, and a gateway before the host. */
export async function setOpenWopStage(): Promise<OpenWopStage> {
  const undo: (() => Promise<void> | void)[] = [];
  const clear = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const host = startExampleHost();
    undo.push(() => host.stop());
    const hostUrl = await host.url;
    const receiver = new Receiver();
    await receiver.start();
    undo.push(() => receiver.stop());

    const dataDir = await mkdtemp(join(tmpdir(), "baton-demo-"));
    undo.push(() => rm(dataDir, { recursive: true, force: true }));
    process.env[HOST_KEY_VARIABLE] = HOST_KEY;
    const config = demoConfig(hostUrl, dataDir, receiver.port);
    const scene = new Scene(config, receiver);
    await scene.open();
    undo.push(() => scene.close());
    return { url: scene.url, steps: stepsOf(scene), clear };
  } catch (error) {
    await clear();
    throw error;
  }
}

function demoConfig(hostUrl: string, dataDir: string, receiverPort: number): Config {
  return parseConfig({
    listen: { port: 0 },
    admin: { port: 0 },
    dataDir,
    agents: {
      briefs: {
        backend: {
          kind: "openwop",
          url: hostUrl,
          workflows: [WORKFLOW],
          credential: { env: HOST_KEY_VARIABLE },
        },
      },
    },
    defaultAgent: "briefs",
    // The receiver of this demo is on this machine and has no certificate; nothing else is let through.
    push: { allow: [{ cidr: "127.0.0.1/32", ports: [receiverPort], plaintext: true }] },
  });
}

/** The gateway and its client, which both go away and come back while the run goes on. */
class Scene {
  readonly receiver: Receiver;
  taskId = "";
  #config: Config;
  #credential = "";
  #gateway: Gateway | undefined;
  #bindings: Bindings | undefined;

  constructor(config: Config, receiver: Receiver) {
    this.#config = config;
    this.receiver = receiver;
  }

  get url(): string {
    return this.#gateway?.url ?? "";
  }

  get client(): Bindings["grpc"] {
    if (this.#bindings === undefined) throw new Error("the gateway is away");
    return this.#bindings.grpc;
  }

  async open(): Promise<void> {
    this.#gateway = await startGateway(this.#config);
    if (this.#credential === "") this.#credential = await vend(this.#gateway);
    this.#bindings = openBindings(this.#gateway.url, this.#credential);
  }

  async close(): Promise<void> {
    this.#bindings?.close();
    this.#bindings = undefined;
    await this.#gateway?.stop(1000);
    this.#gateway = undefined;
  }
}

async function vend(gateway: Gateway): Promise<string> {
  const admin = connect(gateway.adminUrl, gateway.adminToken);
  try {
    const scope = { queues: ["default"], verbs: [...SUBMIT_VERBS], streaming: true, push: true };
    const endpoints = createClient(EndpointService, admin.transport);
    return (await endpoints.createEndpoint({ name: "client", scope })).credential;
  } finally {
    admin.close();
  }
}

function stepsOf(scene: Scene): readonly ReadyStep[] {
  return [
    {
      name: "A message becomes a run of the host, and the run asks for an approval",
      async run() {
        const request = create(SendMessageRequestSchema, {
          message: {
            messageId: randomUUID(),
            role: Role.USER,
            parts: [text("A brief for the spring campaign.")],
          },
          configuration: { taskPushNotificationConfig: { url: scene.receiver.url } },
        });
        const { payload } = await scene.client.sendMessage(request);
        if (payload.case !== "task") throw new Error("no task");
        scene.taskId = payload.value.id;
        expectState(payload.value.status?.state, TaskState.INPUT_REQUIRED);
        return [
          `task and run: ${scene.taskId}`,
          `asked: ${partText(payload.value.status?.message?.parts[0])}`,
        ];
      },
    },
    {
      name: "The question is pushed to a receiver",
      async run() {
        await scene.receiver.wait("TASK_STATE_INPUT_REQUIRED");
        return [`${scene.receiver.states.length} pushes so far: ${scene.receiver.states.join(", ")}`];
      },
    },
    {
      name: "An hour passes without anybody (here: the gateway is stopped and started again)",
      async run() {
        await scene.close();
        await scene.open();
        const task = await scene.client.getTask({ id: scene.taskId });
        expectState(task.status?.state, TaskState.INPUT_REQUIRED);
        return ["The task waits where it waited, as its run does."];
      },
    },
    {
      name: "A stream is attached again, the approver replies, and the stream sees the end",
      async run() {
        const seen: string[] = [];
        const stream = scene.client.subscribeToTask({ id: scene.taskId }, { timeoutMs: PATIENCE_MS });
        for await (const { payload } of stream) {
          if (payload.case === "task") {
            seen.push(`task: ${stateWord(payload.value.status?.state ?? TaskState.UNSPECIFIED)}`);
            await scene.client.sendMessage(approval(scene.taskId));
          } else if (payload.case === "statusUpdate") {
            seen.push(`status: ${stateWord(payload.value.status?.state ?? TaskState.UNSPECIFIED)}`);
          } else if (payload.case === "artifactUpdate") {
            seen.push(`artifact: ${payload.value.artifact?.artifactId ?? ""}`);
          }
        }
        const task = await scene.client.getTask({ id: scene.taskId });
        expectState(task.status?.state, TaskState.COMPLETED);
        return seen;
      },
    },
    {
      name: "The end is pushed, too",
      async run() {
        await scene.receiver.wait("TASK_STATE_COMPLETED");
        return [`all pushes: ${scene.receiver.states.join(", ")}`];
      },
    },
  ];
}

function approval(taskId: string): SendMessageRequest {
  const data = fromJson(ValueSchema, { action: "accept", feedback: "Go ahead." });
  const part = create(PartSchema, { content: { case: "data", value: data } });
  return create(SendMessageRequestSchema, {
    message: { messageId: randomUUID(), role: Role.USER, taskId, parts: [part] },
  });
}

function text(value: string) {
  return create(PartSchema, { content: { case: "text", value } });
}

function partText(part: ReturnType<typeof text> | undefined): string {
  return part?.content.case === "text" ? (part.content.value.split("\n")[0] ?? "") : "";
}

function expectState(found: TaskState | undefined, wanted: TaskState): void {
  if (found === wanted) return;
  throw new Error(`${stateWord(found ?? TaskState.UNSPECIFIED)} instead of ${stateWord(wanted)}`);
}
