import { request as httpRequest } from "node:http";
import { createConnection } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AUTH, startA2AServer, type TestServer } from "./a2a-server.ts";
import { type Sent, send1, send2 } from "./client.ts";

const LIMIT = 262_144;
let server: TestServer;
beforeAll(async () => {
  server = await startA2AServer();
});
afterAll(() => server.close());

/** A request of exactly so many bytes. */
function sized(bytes: number, path: string): string {
  const frame = (text: string): string => {
    const request = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text }] } };
    return JSON.stringify(
      path === "/" ? { jsonrpc: "2.0", id: 1, method: "SendMessage", params: request } : request,
    );
  };
  return frame("x".repeat(bytes - Buffer.byteLength(frame(""))));
}

function sent(path: string, bytes: number, chunked: boolean): Sent {
  const headers = { ...AUTH, "content-type": "application/json" };
  return { method: "POST", path, headers, body: sized(bytes, path), chunked };
}

describe.each(["/", "/message:send"])("the body of POST %s", (path) => {
  it.each([true, false])("SB-53 of 262144 bytes is taken (chunked: %s)", async (chunked) => {
    const answer = await send1(server.port1, sent(path, LIMIT, chunked));
    expect([answer.status, answer.text.includes("error")]).toEqual([200, false]);
  });

  it.each([true, false])("SB-53 of 262145 bytes is 413 (chunked: %s)", async (chunked) => {
    const before = server.seen.length;
    const answer = await send1(server.port1, sent(path, LIMIT + 1, chunked));
    expect(answer.status).toBe(413);
    expect(answer.text).toContain("PAYLOAD_TOO_LARGE");
    expect(answer.headers.connection).toBe("close");
    expect(server.seen.length).toBe(before);
  });

  it("SB-53 over HTTP/2", async () => {
    expect((await send2(server.port2, sent(path, LIMIT, false))).status).toBe(200);
    expect((await send2(server.port2, sent(path, LIMIT + 1, false))).status).toBe(413);
  });

  it("SB-53 a declared length is refused before any of the body has come", async () => {
    const headers = { ...AUTH, "content-type": "application/json", "content-length": String(LIMIT + 1) };
    const status = await new Promise<number>((resolve, reject) => {
      const request = httpRequest(
        { port: server.port1, method: "POST", path, headers, agent: false },
        (response) => {
          resolve(response.statusCode ?? 0);
          request.destroy();
        },
      );
      request.on("error", reject);
      request.flushHeaders();
    });
    expect(status).toBe(413);
  });

  it("SB-53 a client that sends without end reads its refusal and is then cut off", async () => {
    const socket = createConnection({ port: server.port1, host: "127.0.0.1" });
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.on("error", () => {});
    let answer = "";
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString();
    });
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${AUTH.authorization}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    const started = Date.now();
    const timer = setInterval(() => socket.write(chunk), 2);
    await closed;
    clearInterval(timer);
    // Some megabytes are taken in for its sake; the two seconds that a slow sender gets are not used up.
    expect(Date.now() - started).toBeLessThan(1_800);
    expect(answer).toContain("HTTP/1.1 413 ");
  });
});

it("a client that goes away within its body costs nothing", async () => {
  const socket = createConnection({ port: server.port1, host: "127.0.0.1" });
  socket.write(
    `POST / HTTP/1.1\r\nhost: x\r\nauthorization: ${AUTH.authorization}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
  );
  await new Promise((resolve) => setTimeout(resolve, 50));
  socket.destroy();
  expect((await send1(server.port1, sent("/", 500, false))).status).toBe(200);
});
