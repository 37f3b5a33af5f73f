/** The official JavaScript client, in its newest version, on all three bindings of the card that Baton serves. */
import { randomUUID } from "node:crypto";
import { type Message, Role, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  type RequestOptions,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { TestWorker, workerTransport } from "../scenarios/actors.ts";
import { GRPC_PATHS } from "./grpc-paths.ts";

let gateway: TestGateway;
let worker: TestWorker;

function userMessage(text: string, extra: Partial<Message> = {}): Message {
  return {
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    contextId: "",
    taskId: "",
    parts: [
      { content: { $case: "text", value: text }, filename: "", mediaType: "text/plain", metadata: undefined },
    ],
    extensions: [],
    metadata: undefined,
    referenceTaskIds: [],
    ...extra,
  };
}

const sendRequest = (message: Message, returnImmediately: boolean) => ({
  tenant: "",
  message,
  configuration: {
    acceptedOutputModes: [],
    taskPushNotificationConfig: undefined,
    historyLength: undefined,
    returnImmediately,
  },
  metadata: undefined,
});

const getRequest = (id: string) => ({ tenant: "", id, historyLength: undefined });

const listRequest = {
  tenant: "",
  contextId: "",
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageSize: undefined,
  pageToken: "",
  historyLength: undefined,
  statusTimestampAfter: undefined,
  includeArtifacts: true,
};

function brief({ payload }: StreamResponse): string {
  switch (payload?.$case) {
    case "task":
    case "statusUpdate":
      return `${payload.$case} ${TaskState[payload.value.status?.state ?? 0]}`;
    case "artifactUpdate":
      return `artifact ${payload.value.artifact?.artifactId}`;
    default:
      return String(payload?.$case);
  }
}

describe.each(GRPC_PATHS)("a gateway with $path", ({ listen, bindings }) => {
  beforeAll(async () => {
    gateway = await startTestGateway({
      listen,
      agents: { default: {}, second: { discoverable: true } },
      send: { maxWaitSeconds: 10 },
    });
    worker = new TestWorker(workerTransport(gateway.url, await gateway.vendWorker()));
  });

  afterAll(() => gateway?.stop());

  describe.each(bindings)("@a2a-js/sdk over %s", (binding) => {
    let client: Client;
    let options: RequestOptions;

    /** The client that a user gets: card from the well-known address, binding by preference. */
    async function connect(path?: string): Promise<Client> {
      const factory = new ClientFactory(
        ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
          transports: [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()],
          preferredTransports: [binding],
        }),
      );
      return factory.createFromUrl(gateway.url, path);
    }

    const bearer = (token: string): RequestOptions => ({
      serviceParameters: { authorization: `Bearer ${token}` },
    });

    async function start(text: string): Promise<Task> {
      const answer = await client.sendMessage(sendRequest(userMessage(text), true), options);
      if (!("status" in answer)) throw new Error("the answer is no task");
      return answer;
    }

    beforeAll(async () => {
      client = await connect();
      options = bearer(await gateway.vend());
    });

    it("A2A-178 the client finds this binding on the card and speaks 1.0", () => {
      expect(client.protocolVersion).toBe("1.0");
      expect(client.transport.protocolName).toBe(binding);
    });

    it("A2A-30 A2A-31 a blocking send answers the completed task with its artifacts", async () => {
      const message = userMessage("blocking");
      const started = await client.sendMessage(sendRequest(message, true), options);
      if (!("status" in started)) throw new Error("the answer is no task");
      await worker.claim(started.id);
      const waiting = client.sendMessage(sendRequest(message, false), options);
      await worker.complete(started.id, [{ artifactId: "out", parts: [{ text: "result" }] }]);
      const answer = await waiting;
      if (!("status" in answer)) throw new Error("the answer is no task");
      expect(answer.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
      expect(answer.artifacts[0]?.parts[0]?.content).toEqual({ $case: "text", value: "result" });
    });

    it("A2A-82 A2A-83 a stream brings the task, its events, and a clean end", async () => {
      const seen: string[] = [];
      for await (const event of client.sendMessageStream(
        sendRequest(userMessage("stream"), false),
        options,
      )) {
        seen.push(brief(event));
        if (event.payload?.$case === "task") {
          const { id } = event.payload.value;
          await worker.do(id, [{ artifactId: "a", parts: [{ text: "x" }] }]);
        }
      }
      expect(seen).toEqual([
        "task TASK_STATE_SUBMITTED",
        "statusUpdate TASK_STATE_WORKING",
        "artifact a",
        "statusUpdate TASK_STATE_COMPLETED",
      ]);
    });

    it("A2A-87 FR-27 a client that lost its stream subscribes again and sees the end", async () => {
      let id = "";
      for await (const event of client.sendMessageStream(
        sendRequest(userMessage("cut me"), false),
        options,
      )) {
        if (event.payload?.$case === "task") id = event.payload.value.id;
        break;
      }
      await worker.claim(id);
      const seen: string[] = [];
      for await (const event of client.resubscribeTask({ tenant: "", id }, options)) {
        seen.push(brief(event));
        if (seen.length === 1) await worker.complete(id);
      }
      expect(seen).toEqual(["task TASK_STATE_WORKING", "statusUpdate TASK_STATE_COMPLETED"]);
    });

    it("A2A-57 A2A-62 A2A-74 get, list and cancel answer what the client can read", async () => {
      const own = bearer(await gateway.vend());
      const sent = await client.sendMessage(sendRequest(userMessage("listed"), true), own);
      if (!("status" in sent)) throw new Error("the answer is no task");
      expect((await client.getTask(getRequest(sent.id), own)).id).toBe(sent.id);
      const page = await client.listTasks(listRequest, own);
      expect(page.tasks.map(({ id }) => id)).toEqual([sent.id]);
      expect([page.totalSize, page.pageSize, page.nextPageToken]).toEqual([1, 50, ""]);
      const canceled = await client.cancelTask({ tenant: "", id: sent.id, metadata: undefined }, own);
      expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    });

    it("A2A-45 FR-21 a question is asked, answered and the task completes", async () => {
      const { id, contextId } = await start("ask");
      await worker.claim(id);
      await worker.ask(id, "which?");
      expect((await client.getTask(getRequest(id), options)).status?.state).toBe(
        TaskState.TASK_STATE_INPUT_REQUIRED,
      );
      const reply = userMessage("that one", { taskId: id, contextId });
      const answer = await client.sendMessage(sendRequest(reply, true), options);
      expect("status" in answer && answer.status?.state).toBe(TaskState.TASK_STATE_WORKING);
      await worker.complete(id);
      expect((await client.getTask(getRequest(id), options)).status?.state).toBe(
        TaskState.TASK_STATE_COMPLETED,
      );
    });

    it("A2A-57 A2A-153 an unknown task is the client's typed error", async () => {
      await expect(client.getTask(getRequest("never-was"), options)).rejects.toMatchObject({
        name: "TaskNotFoundError",
      });
    });

    it("A2A-88 FR-34 subscribing to an ended task is the client's typed error", async () => {
      const { id } = await start("ended");
      await worker.do(id);
      const reading = async () => {
        for await (const event of client.resubscribeTask({ tenant: "", id }, options)) {
          throw new Error(`unexpected event ${brief(event)}`);
        }
      };
      await expect(reading()).rejects.toMatchObject({ name: "UnsupportedOperationError" });
    });

    it("A2A-35 a message to an ended task is the client's typed error", async () => {
      const { id } = await start("ended");
      await worker.do(id);
      const more = sendRequest(userMessage("more", { taskId: id }), true);
      await expect(client.sendMessage(more, options)).rejects.toMatchObject({
        name: "UnsupportedOperationError",
      });
    });

    it("A2A-8 without a credential nothing is served", async () => {
      await expect(client.getTask(getRequest("x"))).rejects.toThrow();
      await expect(client.listTasks(listRequest, bearer("sbk_wrong"))).rejects.toThrow();
    });

    it("A2A-17 an agent with a tenant is reached through its own card", async () => {
      const second = await connect("second/.well-known/agent-card.json");
      const own = bearer(await gateway.vend({ agent: "second" }));
      const sent = await second.sendMessage(sendRequest(userMessage("for the second"), true), own);
      if (!("status" in sent)) throw new Error("the answer is no task");
      expect((await second.getTask(getRequest(sent.id), own)).id).toBe(sent.id);
      expect((await second.listTasks(listRequest, own)).totalSize).toBe(1);
    });
  });

  describe("every interface of the card", () => {
    it("A2A-22 A2A-178 FR-68 FR-69 is reachable as written and speaks the version that it names", async () => {
      const legacyCompat = { enabled: true };
      const resolver = new DefaultAgentCardResolver();
      const card = await resolver.resolve(gateway.url);
      expect(new Set(card.supportedInterfaces.map((offered) => offered.protocolVersion))).toEqual(
        new Set(["1.0", "0.3"]),
      );
      const factory = new ClientFactory(
        ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
          transports: [
            new JsonRpcTransportFactory({ legacyCompat }),
            new RestTransportFactory({ legacyCompat }),
            new GrpcTransportFactory({ legacyCompat }),
          ],
        }),
      );
      const options = { serviceParameters: { authorization: `Bearer ${await gateway.vend()}` } };
      for (const offered of card.supportedInterfaces) {
        const client = await factory.createFromAgentCard({ ...card, supportedInterfaces: [offered] });
        const name = `${offered.protocolBinding} ${offered.protocolVersion}`;
        expect(client.protocolVersion, name).toBe(offered.protocolVersion);
        const answer = await client.sendMessage(sendRequest(userMessage(name), true), options);
        if (!("status" in answer)) throw new Error(`${name}: the answer is no task`);
        expect(answer.status?.state, name).toBe(TaskState.TASK_STATE_SUBMITTED);
        expect((await client.getTask(getRequest(answer.id), options)).id, name).toBe(answer.id);
      }
    });
  });
});
