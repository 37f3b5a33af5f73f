/** The official SDK's clients as 0.3 peers: its last 0.3 release, and its 1.x line in its legacy mode. */
import { randomUUID } from "node:crypto";
import {
  ClientFactory as NewFactory,
  JsonRpcTransportFactory as NewJsonRpc,
  DefaultAgentCardResolver as NewResolver,
  RestTransportFactory as NewRest,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory as NewGrpc } from "@a2a-js/sdk/client/grpc";
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from "a2a-js-sdk-03/client";
import { GrpcTransportFactory } from "a2a-js-sdk-03/client/grpc";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { TestWorker, workerTransport } from "../scenarios/actors.ts";

const BINDINGS = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;
type Binding = (typeof BINDINGS)[number];

/** What both clients can do, in the words of this test. */
interface Peer {
  send(text: string, blocking: boolean): Promise<Seen>;
  stream(text: string, signal?: AbortSignal): AsyncIterable<Seen>;
  resubscribe(id: string): AsyncIterable<Seen>;
  get(id: string): Promise<Seen>;
  cancel(id: string): Promise<Seen>;
}

/** A task or event in short. */
interface Seen {
  readonly kind: string;
  readonly id: string;
  readonly state?: string;
  readonly final?: boolean;
  readonly texts: readonly string[];
}

let gateway: TestGateway;
let worker: TestWorker;

beforeAll(async () => {
  gateway = await startTestGateway();
  worker = new TestWorker(workerTransport(gateway.url, await gateway.vendWorker()));
});

afterAll(() => gateway?.stop());

async function optionsOf(): Promise<{ serviceParameters: Record<string, string> }> {
  return { serviceParameters: { authorization: `Bearer ${await gateway.vend()}` } };
}

// The SDK's own types differ between its two lines; what is read from them here is the part that both have.
interface LegacyObject {
  readonly kind: string;
  readonly id?: string;
  readonly taskId?: string;
  readonly final?: boolean;
  readonly status?: { readonly state: string };
  readonly artifact?: { readonly parts: readonly { readonly text?: string }[] };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[];
}

function legacySeen(given: object): Seen {
  const object = given as LegacyObject;
  const artifacts = [
    ...(object.artifacts ?? []),
    ...(object.artifact === undefined ? [] : [object.artifact]),
  ];
  return {
    kind: object.kind,
    id: object.id ?? object.taskId ?? "",
    texts: artifacts.flatMap(({ parts }) => parts.map(({ text }) => text ?? "")),
    ...(object.status === undefined ? {} : { state: object.status.state }),
    ...(object.final === undefined ? {} : { final: object.final }),
  };
}

async function* legacyEvents(events: AsyncIterable<unknown>): AsyncGenerator<Seen> {
  for await (const event of events) yield legacySeen(event as object);
}

async function oldPeer(binding: Binding): Promise<Peer> {
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()],
    preferredTransports: [binding],
  });
  const client = await factory.createFromUrl(gateway.url);
  const options = await optionsOf();
  const params = (text: string, blocking: boolean) => ({
    message: {
      kind: "message" as const,
      messageId: randomUUID(),
      role: "user" as const,
      parts: [{ kind: "text" as const, text }],
    },
    configuration: { blocking },
  });
  return {
    send: async (text, blocking) => legacySeen(await client.sendMessage(params(text, blocking), options)),
    stream: (text, signal) =>
      legacyEvents(client.sendMessageStream(params(text, true), { ...options, ...(signal && { signal }) })),
    resubscribe: (id) => legacyEvents(client.resubscribeTask({ id }, options)),
    get: async (id) => legacySeen(await client.getTask({ id }, options)),
    cancel: async (id) => legacySeen(await client.cancelTask({ id }, options)),
  };
}

const STATES: Readonly<Record<number, string>> = {
  1: "submitted",
  2: "working",
  3: "completed",
  5: "canceled",
  6: "input-required",
};

interface NewPayload {
  readonly $case: string;
  readonly value: NewObject;
}

interface NewObject {
  readonly id?: string;
  readonly taskId?: string;
  readonly status?: { readonly state: number };
  readonly artifact?: NewArtifact;
  readonly artifacts?: readonly NewArtifact[];
}

interface NewArtifact {
  readonly parts: readonly { readonly content?: { readonly value: unknown } }[];
}

function newSeen(kind: string, object: NewObject): Seen {
  const artifacts = [
    ...(object.artifacts ?? []),
    ...(object.artifact === undefined ? [] : [object.artifact]),
  ];
  return {
    kind: kind.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    id: object.id ?? object.taskId ?? "",
    texts: artifacts.flatMap(({ parts }) => parts.map(({ content }) => String(content?.value))),
    ...(object.status === undefined ? {} : { state: STATES[object.status.state] ?? "?" }),
  };
}

async function* newEvents(events: AsyncIterable<unknown>): AsyncGenerator<Seen> {
  for await (const event of events) {
    const { payload } = event as { readonly payload: NewPayload };
    yield newSeen(payload.$case, payload.value);
  }
}

/** The 1.x client, made to see the 0.3 card only. */
async function newPeer(binding: Binding): Promise<Peer> {
  const legacyCompat = { enabled: true };
  const asV03: typeof fetch = (input, init) =>
    fetch(input, {
      ...init,
      headers: { ...Object.fromEntries(new Headers(init?.headers)), "a2a-version": "0.3" },
    });
  const factory = new NewFactory({
    transports: [
      new NewJsonRpc({ legacyCompat }),
      new NewRest({ legacyCompat }),
      new NewGrpc({ legacyCompat }),
    ],
    preferredTransports: [binding],
    cardResolver: new NewResolver({ legacyCompat, fetchImpl: asV03 }),
  });
  const client = await factory.createFromUrl(gateway.url);
  const options = await optionsOf();
  const request = (text: string, blocking: boolean) => ({
    tenant: "",
    message: {
      messageId: randomUUID(),
      role: 1,
      contextId: "",
      taskId: "",
      parts: [
        {
          content: { $case: "text" as const, value: text },
          metadata: undefined,
          filename: "",
          mediaType: "",
        },
      ],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: !blocking,
    },
    metadata: undefined,
  });
  return {
    send: async (text, blocking) => {
      const result = await client.sendMessage(request(text, blocking), options);
      return newSeen("task", result as unknown as NewObject);
    },
    stream: (text, signal) =>
      newEvents(client.sendMessageStream(request(text, true), { ...options, ...(signal && { signal }) })),
    resubscribe: (id) => newEvents(client.resubscribeTask({ tenant: "", id }, options)),
    get: async (id) =>
      newSeen("task", (await client.getTask({ tenant: "", id }, options)) as unknown as NewObject),
    cancel: async (id) =>
      newSeen(
        "task",
        (await client.cancelTask({ tenant: "", id, metadata: undefined }, options)) as unknown as NewObject,
      ),
  };
}

const clients = [
  { name: "@a2a-js/sdk 0.3.14", peer: oldPeer, says: true },
  { name: "@a2a-js/sdk 1.x in legacy mode", peer: newPeer, says: false },
] as const;

describe.each(clients)("$name", ({ peer, says }) => {
  describe.each(BINDINGS)("on %s", (binding) => {
    it("A2A-164 A2A-170 finds its interface in the card, sends, reads and cancels", async () => {
      const client = await peer(binding);
      const sent = await client.send("later", false);
      expect(sent).toMatchObject({ kind: "task", state: "submitted" });
      expect(await client.get(sent.id)).toMatchObject({ id: sent.id, state: "submitted" });
      expect(await client.cancel(sent.id)).toMatchObject({ id: sent.id, state: "canceled" });
    });

    it("A2A-164 a blocking send waits for the result", async () => {
      const client = await peer(binding);
      const started = client.stream("wait for me");
      const first = await firstOf(started);
      const blocked = client.send("and me", true);
      await worker.do(first.id);
      const id = await claimNext();
      await worker.complete(id, [{ artifactId: "a", parts: [{ text: "done" }] }]);
      expect(await blocked).toMatchObject({ id, state: "completed", texts: ["done"] });
    });

    it("A2A-163 A2A-171 FR-67 streams to the last event, and comes back after a cut", async () => {
      const client = await peer(binding);
      const cut = new AbortController();
      const first = await firstOf(client.stream("stream", cut.signal));
      cut.abort();
      await worker.claim(first.id);
      const seen: Seen[] = [];
      for await (const event of client.resubscribe(first.id)) {
        seen.push(event);
        if (seen.length === 1) {
          await worker.artifact(first.id, { artifactId: "a", parts: [{ text: "half" }] });
          await worker.complete(first.id);
        }
      }
      expect(seen[0]).toMatchObject({ kind: "task", state: "working" });
      expect(seen.slice(1).map(({ kind }) => kind)).toEqual(["artifact-update", "status-update"]);
      expect(seen[1]?.texts).toEqual(["half"]);
      expect(seen.at(-1)).toMatchObject({ state: "completed", ...(says ? { final: true } : {}) });

      const late: Seen[] = [];
      for await (const event of client.resubscribe(first.id)) late.push(event);
      expect(late).toMatchObject([{ kind: "task", state: "completed", texts: ["half"] }]);
    });

    it("A2A-172 an unknown task is the typed error of the SDK", async () => {
      const client = await peer(binding);
      await expect(client.get("no-such-task")).rejects.toMatchObject({ name: "TaskNotFoundError" });
    });
  });
});

async function firstOf(events: AsyncIterable<Seen>): Promise<Seen> {
  for await (const event of events) return event;
  throw new Error("the stream has no event");
}

async function claimNext(): Promise<string> {
  const { todo } = await worker.client.claim({ claimant: "test worker", wait: { seconds: 10n, nanos: 0 } });
  if (todo === undefined) throw new Error("no work came");
  return todo.id;
}
