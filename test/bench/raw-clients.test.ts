import { once } from "node:events";
import { createServer as createHttp1, type ServerResponse } from "node:http";
import { createServer as createHttp2, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { openEventSockets } from "../../bench/load/event-sockets.ts";
import { type Caller, openCaller, promiseOf, type Unary } from "../../bench/load/unary.ts";

const TASK_ID = "td_00000000-0000-4000-8000-000000000000";
const OTHER_ID = "td_00000000-0000-4000-8000-000000000001";
const open: { close(): void }[] = [];

afterEach(() => {
  for (const each of open.splice(0)) each.close();
});

async function callerOf(server: Server, call: Unary): Promise<Caller> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const caller = await openCaller(call, { port, credential: "secret", taskId: TASK_ID }, 1);
  open.push(caller, server);
  return caller;
}

/** Calls once for each answer; tells which were taken for right. */
async function verdicts(caller: Caller, count: number): Promise<boolean[]> {
  const found: boolean[] = [];
  const [start] = caller.calls;
  if (start === undefined) throw new Error("no call");
  for (let i = 0; i < count; i += 1) {
    found.push(
      await promiseOf(start).then(
        () => true,
        () => false,
      ),
    );
  }
  return found;
}

describe("the load of the unary rows", () => {
  it("takes no wrong answer for a right one by HTTP/1.1, whatever it looks like", async () => {
    const result = (id: string) => JSON.stringify({ jsonrpc: "2.0", id: 1, result: { id, more: "x" } });
    const answers: ((response: ServerResponse, body: string) => void)[] = [
      (response) => response.end(result(TASK_ID)),
      (response) => response.end(result(TASK_ID)),
      (response) => response.end(result(OTHER_ID)),
      (response) => response.writeHead(500, "OK", { "content-length": result("").length }).end(result("")),
      (response) => Object.assign(response, { statusCode: 503, statusMessage: "OK" }).end(result(TASK_ID)),
      (response) => response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, error: { message: TASK_ID } })),
      // In pieces, and longer than before.
      (response, body) => {
        response.writeHead(200, { "content-length": body.length + 1 });
        response.write(body.slice(0, 20));
        setTimeout(() => response.end(`${body.slice(20)} `), 20);
      },
      (response) => response.end(result(TASK_ID)),
    ];
    const server = createHttp1((_request, response) => answers.shift()?.(response, result(TASK_ID)));
    const caller = await callerOf(server, "jsonrpc GetTask");
    expect(await verdicts(caller, answers.length)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
      true,
      true,
    ]);
  });

  it("takes no wrong answer for a right one by gRPC", async () => {
    const message = (id: string) => Buffer.concat([Buffer.of(0, 0, 0, 0, id.length), Buffer.from(id)]);
    const headers = { ":status": 200, "content-type": "application/grpc" };
    const answers: ((stream: ServerHttp2Stream) => void)[] = [
      (stream) => stream.end(message(TASK_ID)),
      (stream) => stream.end(message(OTHER_ID)),
      (stream) => stream.end(),
      (stream) => stream.close(2),
      (stream) => stream.end(message(TASK_ID).subarray(5)),
      (stream) => {
        stream.write(message(TASK_ID).subarray(0, 9));
        setTimeout(() => stream.end(message(TASK_ID).subarray(9)), 20);
      },
      (stream) => stream.end(message(TASK_ID)),
    ];
    const server = createHttp2();
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      stream.respond(headers);
      answers.shift()?.(stream);
    });
    const caller = await callerOf(server, "grpc GetTask");
    expect(await verdicts(caller, answers.length)).toEqual([true, false, false, false, false, true, true]);
  });

  it("says at once why a stream was refused, and leaves none open", async () => {
    let asked = 0;
    const server = createHttp1((_request, response) => {
      asked += 1;
      if (asked > 1) response.writeHead(400).end("no such stream");
      else response.writeHead(200, { "content-type": "text/event-stream" }).write("data: first\n\n");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    open.push(server);
    const { port } = server.address() as AddressInfo;
    const request = () => Buffer.from("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    await expect(openEventSockets({ port, count: 3, first: 1, request })).rejects.toThrow("no such stream");
    await expect.poll(() => new Promise((resolve) => server.getConnections((_, n) => resolve(n)))).toBe(0);
  });

  it("fails what is under way when the connection goes", async () => {
    const server = createHttp1((request) => request.socket.destroy());
    const caller = await callerOf(server, "jsonrpc GetTask");
    expect(await verdicts(caller, 2)).toEqual([false, false]);
  });
});
