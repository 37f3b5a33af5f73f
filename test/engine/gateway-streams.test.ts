import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AService, SubscribeToTaskRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { eventually } from "../cluster/servers.ts";
import { UNLIMITED } from "../gateway.ts";
import { agentSays, brief, Reading, type Sender, senderOf, workerOf } from "./client.ts";
import { startWorld, type World } from "./world.ts";

let world: World;
const CAP = 3;

beforeAll(async () => {
  world = await startWorld(
    {
      streams: { perEndpoint: CAP, buffer: 256, stallSeconds: 1 },
      retries: { baseSeconds: 0.05, capSeconds: 0.05 },
      // More than any buffer between here and a reader holds.
      limits: { ...UNLIMITED, taskBytes: 32 * 1024 * 1024 },
    },
    2,
  );
});
afterAll(() => world?.stop());

function subscribe({ client }: Sender, id: string): Reading {
  return new Reading((signal) => client.subscribeToTask({ id }, { signal }));
}

/** Nothing is registered any more: not in the processes, not as a channel, not as a slot. */
async function nothingLeft(): Promise<void> {
  await eventually("no stream is open", async () =>
    world.gateways.every(({ openStreams }) => openStreams === 0),
  );
  await eventually("no channel of a task is subscribed", async () => {
    const channels = (await world.redis.ask("PUBSUB", "SHARDCHANNELS", "*:task:*")) as unknown[];
    return channels.length === 0;
  });
  await eventually("no slot is taken", async () => {
    return ((await world.redis.ask("KEYS", "baton:streams:*")) as unknown[]).length === 0;
  });
}

/** Opens an event stream on a socket of its own, and reads until its headers are there. */
async function rawStream(token: string, id: string): Promise<Socket> {
  const socket = connect(world.gateway.port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(
    `GET /tasks/${id}:subscribe HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  await once(socket, "data");
  return socket;
}

describe("streams through two gateways", () => {
  it("SB-42 SB-43 SB-45 the task first, then every event in order, on both gateways, until the end and no further", async () => {
    const token = await world.gateway.vend();
    const senders = world.gateways.map(({ url }) => senderOf(url, token));
    const [sender] = senders as [Sender];
    const worker = await world.worker();
    const ends = {
      COMPLETED: (id: string) => worker.complete({ id }),
      FAILED: (id: string) => worker.fail({ id, permanent: true }),
      REJECTED: (id: string) => worker.reject({ id }),
      CANCELED: (id: string) => sender.client.cancelTask({ id }),
    };
    for (const [name, end] of Object.entries(ends)) {
      const { id } = await sender.send("go");
      const readings = senders.map((each) => subscribe(each, id));
      for (const reading of readings) await reading.until("task SUBMITTED");
      await worker.claimById({ id });
      await worker.updateStatus({ id, message: agentSays("half") });
      await end(id);
      for (const reading of readings) {
        await reading.done;
        expect(reading.error).toBeUndefined();
        expect(reading.briefs).toEqual([
          "task SUBMITTED",
          "status WORKING",
          "status WORKING",
          `status ${name}`,
        ]);
      }
      expect(readings[0]?.seen).toEqual(readings[1]?.seen);
    }
    await nothingLeft();
  });

  it("SB-44 a transition between snapshot and attachment is seen exactly once", async () => {
    const sender = await world.sender();
    const worker = await world.worker();
    for (let i = 0; i < 25; i += 1) {
      const { id } = await sender.send("race");
      const reading = subscribe(sender, id);
      await worker.claimById({ id });
      await worker.complete({ id });
      await reading.done;
      // Opened before, between or after them: never twice, never without the end.
      if (reading.error === undefined) {
        const seen = reading.briefs.map((text) => text.split(" ")[1]);
        expect([
          ["SUBMITTED", "WORKING", "COMPLETED"],
          ["WORKING", "COMPLETED"],
        ]).toContainEqual(seen);
      } else {
        // The task had ended before the stream was opened.
        expect(ConnectError.from(reading.error).code).toBe(Code.FailedPrecondition);
        expect(reading.briefs).toEqual([]);
      }
    }
  });

  it("SB-46 without the streaming capability the answer is UnsupportedOperation, and nothing was registered", async () => {
    const sender = await world.sender({ streaming: false });
    const { id } = await sender.send("no stream");
    const reading = subscribe(sender, id);
    await reading.done;
    expect(ConnectError.from(reading.error)).toMatchObject({ code: Code.FailedPrecondition });
    expect(reading.seen).toEqual([]);
    await nothingLeft();
    const before = (await sender.client.listTasks({})).totalSize;
    const sending = new Reading((signal) =>
      sender.client.sendStreamingMessage(
        { message: { messageId: "m", role: 1, parts: [{ content: { case: "text", value: "x" } }] } },
        { signal },
      ),
    );
    await sending.done;
    expect(ConnectError.from(sending.error)).toMatchObject({ code: Code.FailedPrecondition });
    expect((await sender.client.listTasks({})).totalSize).toBe(before);
  });

  it("SB-47 the streams of an endpoint are capped over all gateways; the next is told to come later, and an end frees a slot", async () => {
    const token = await world.gateway.vend();
    const [here, there] = world.gateways.map(({ url }) => senderOf(url, token)) as [Sender, Sender];
    const { id } = await here.send("watched");
    const open = [subscribe(here, id), subscribe(there, id), subscribe(there, id)];
    for (const reading of open) await reading.until("task SUBMITTED");
    const refused = subscribe(here, id);
    await refused.done;
    const error = ConnectError.from(refused.error);
    expect(error.code).toBe(Code.ResourceExhausted);
    expect(error.metadata.get("retry-after")).toBe("1");
    const other = await world.sender();
    const free = subscribe(other, (await other.send("mine")).id);
    await free.until("task SUBMITTED");
    open[1]?.stop();
    await eventually("the slot is free", async () => {
      const next = subscribe(here, id);
      open.push(next);
      await Promise.race([next.until("task SUBMITTED"), next.done]);
      return next.error === undefined;
    });
    for (const reading of [...open, free]) reading.stop();
    await nothingLeft();
  });

  it("SB-47 SB-48 a client whose socket is reset gives its slots back", async () => {
    const token = await world.gateway.vend();
    const sender = senderOf(world.gateway.url, token);
    const { id } = await sender.send("watched");
    const sockets = await Promise.all(Array.from({ length: CAP }, () => rawStream(token, id)));
    const refused = subscribe(sender, id);
    await refused.done;
    expect(ConnectError.from(refused.error).code).toBe(Code.ResourceExhausted);
    for (const socket of sockets) socket.resetAndDestroy();
    await nothingLeft();
    const next = subscribe(sender, id);
    await next.until("task SUBMITTED");
    next.stop();
    await nothingLeft();
  });

  it("SB-47 the slots of a gateway that died lapse by themselves", async () => {
    const token = await world.gateway.vend();
    const sender = senderOf(world.gateway.url, token);
    const { id } = await sender.send("watched");
    const first = subscribe(sender, id);
    await first.until("task SUBMITTED");
    const [key] = (await world.redis.ask("KEYS", "baton:streams:*")) as string[];
    // As a process leaves it that was killed 45 s ago: slots whose time is over.
    for (const name of ["dead-1", "dead-2"]) await world.redis.ask("ZADD", key ?? "", "1", name);
    const more = [subscribe(sender, id), subscribe(sender, id)];
    for (const reading of more) await reading.until("task SUBMITTED");
    for (const reading of [first, ...more]) reading.stop();
    await nothingLeft();
  });

  it("SB-48 SB-59 revocation closes the streams on every gateway, after the end of their tasks, and nothing stays registered", async () => {
    const token = await world.gateway.vend();
    const senders = world.gateways.map(({ url }) => senderOf(url, token));
    const { id } = await (senders[0] as Sender).send("watched");
    const readings = senders.map((sender) => subscribe(sender, id));
    for (const reading of readings) await reading.until("task SUBMITTED");
    await world.gateway.revoke(token);
    for (const reading of readings) {
      await reading.done;
      expect(reading.briefs[0]).toBe("task SUBMITTED");
    }
    await nothingLeft();
  });

  it("SB-48 a watch of a todo and of a queue are let go with their client", async () => {
    const worker = await world.worker();
    const sender = await world.sender();
    const { id } = await sender.send("watched");
    const abort = new AbortController();
    const todo = worker.watchTodo({ id }, { signal: abort.signal })[Symbol.asyncIterator]();
    const queue = worker.watchQueue({}, { signal: abort.signal })[Symbol.asyncIterator]();
    await Promise.all([todo.next(), queue.next()]);
    expect(world.gateway.openStreams).toBe(2);
    abort.abort();
    await nothingLeft();
    // Gone before the channel was open: there must be nothing left either.
    for (let i = 0; i < 20; i += 1) {
      const early = new AbortController();
      const pending = worker.watchTodo({ id }, { signal: early.signal })[Symbol.asyncIterator]().next();
      setTimeout(() => early.abort(), i / 4);
      await pending.catch(() => {});
    }
    await nothingLeft();
  });

  it("SB-50 a parked retry does not end a stream; a later attempt completes on it", async () => {
    const sender = await world.sender();
    const worker = await world.worker();
    const { id } = await sender.send("twice");
    const reading = subscribe(sender, id);
    await reading.until("task SUBMITTED");
    await worker.claimById({ id });
    await worker.fail({ id, message: agentSays("not this time") });
    await eventually("its time comes", async () => worker.claimById({ id }));
    await worker.complete({ id });
    await reading.done;
    expect(reading.briefs.slice(1).map((text) => text.split(" ")[1])).toEqual([
      "WORKING",
      "SUBMITTED",
      "WORKING",
      "COMPLETED",
    ]);
  });

  it("SB-40 a cancel reaches the worker's watch at once, and its next call conflicts", async () => {
    const sender = await world.sender();
    const token = await world.gateway.vendWorker();
    const worker = workerOf(world.gateway.url, token);
    const elsewhere = workerOf(world.gateways[1]?.url ?? "", token);
    const { id } = await sender.send("stop me");
    await worker.claimById({ id });
    const watches = [worker, elsewhere].map((each) => each.watchTodo({ id })[Symbol.asyncIterator]());
    for (const watch of watches) expect((await watch.next()).value?.event.case).toBe("opened");
    const started = Date.now();
    await sender.client.cancelTask({ id });
    for (const watch of watches) {
      const { value } = await watch.next();
      expect(value?.event).toMatchObject({ case: "changed", value: { state: 7 } });
      expect((await watch.next()).done).toBe(true);
    }
    expect(Date.now() - started).toBeLessThan(2000);
    await expect(worker.complete({ id })).rejects.toMatchObject({ code: Code.Aborted });
    await expect(worker.heartbeat({ id })).rejects.toMatchObject({ code: Code.Aborted });
    expect(await sender.state(id)).toBe("CANCELED");
  });
});

describe("a reader that takes nothing", () => {
  /** Makes events of 64 KiB until one reader cannot have them in any buffer any more. */
  async function flood(worker: ReturnType<typeof workerOf>, id: string, events: number): Promise<void> {
    const text = "x".repeat(64 * 1024);
    for (let i = 0; i < events; i += 1) await worker.updateStatus({ id, message: agentSays(`${i} ${text}`) });
  }

  async function others(stalled: string, begin: (token: string, id: string) => Promise<() => Promise<void>>) {
    const token = await world.gateway.vend();
    const sender = senderOf(world.gateway.url, token);
    const worker = await world.worker();
    const { id } = await sender.send(stalled);
    await worker.claimById({ id });
    const closed = await begin(token, id);
    const healthy = subscribe(sender, id);
    await healthy.until("task WORKING");
    expect(world.gateway.openStreams).toBe(2);
    const started = Date.now();
    await flood(worker, id, 150);
    const took = Date.now() - started;
    await closed();
    await eventually("its stream is let go", async () => world.gateway.openStreams === 1);
    await worker.complete({ id });
    await healthy.done;
    expect(healthy.error).toBeUndefined();
    expect(healthy.briefs).toEqual([
      "task WORKING",
      ...Array.from({ length: 150 }, () => "status WORKING"),
      "status COMPLETED",
    ]);
    healthy.seen.slice(1, 151).forEach((event, i) => {
      expect(brief(event)).toBe("status WORKING");
      const { payload } = event;
      const part = payload.case === "statusUpdate" ? payload.value.status?.message?.parts[0] : undefined;
      expect(String(part?.content.value).split(" ")[0]).toBe(String(i));
    });
    expect(took).toBeLessThan(20_000);
    await nothingLeft();
  }

  it("SB-49 on an event stream is closed; commits go on, and the second subscriber misses nothing", async () => {
    await others("sse", async (token, id) => {
      const socket = await rawStream(token, id);
      socket.pause();
      return async () => {
        const gone = once(socket, "close");
        // Only a reader sees the end: what was sent is read, then the reset or the end.
        await eventually("the server let go", async () => world.gateway.openStreams === 1);
        socket.resume();
        await gone;
      };
    });
  });

  it("SB-49 on gRPC is reset; commits go on, and the second subscriber misses nothing", async () => {
    await others("grpc", async (token, id) => {
      const session = connectHttp2(world.gateway.url, { settings: { initialWindowSize: 16_384 } });
      session.on("error", () => {});
      const stream = session.request({
        ":method": "POST",
        ":path": `/${A2AService.typeName}/SubscribeToTask`,
        "content-type": "application/grpc",
        te: "trailers",
        authorization: `Bearer ${token}`,
      });
      stream.on("error", () => {});
      const message = Buffer.from(
        toBinary(SubscribeToTaskRequestSchema, {
          $typeName: "lf.a2a.v1.SubscribeToTaskRequest",
          tenant: "",
          id,
        }),
      );
      const head = Buffer.alloc(5);
      head.writeUInt32BE(message.length, 1);
      stream.end(Buffer.concat([head, message]));
      await once(stream, "response");
      // Never read: the window of the stream closes after 16 KiB.
      return async () => {
        await eventually("the server reset the stream", async () => stream.closed || stream.destroyed);
        session.destroy();
      };
    });
  });

  it("SB-49 on Connect is closed as well", async () => {
    await others("connect", async (token, id) => {
      const body = Buffer.from(JSON.stringify({ id }));
      const head = Buffer.alloc(5);
      head.writeUInt32BE(body.length, 1);
      const socket = connect(world.gateway.port, "127.0.0.1");
      socket.on("error", () => {});
      await once(socket, "connect");
      const headers = [
        `POST /${A2AService.typeName}/SubscribeToTask HTTP/1.1`,
        "Host: x",
        `Authorization: Bearer ${token}`,
        "Content-Type: application/connect+json",
        "Connect-Protocol-Version: 1",
        `Content-Length: ${body.length + 5}`,
      ];
      socket.write(Buffer.concat([Buffer.from(`${headers.join("\r\n")}\r\n\r\n`), head, body]));
      await once(socket, "data");
      socket.pause();
      return async () => {
        await eventually("the server let go", async () => world.gateway.openStreams === 1);
        socket.destroy();
      };
    });
  });
});
