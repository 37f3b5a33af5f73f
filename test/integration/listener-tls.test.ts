import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { constants, connect as h2connect } from "node:http2";
import { get as httpsGet } from "node:https";
import { connect as tcpConnect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { connect as tlsConnect } from "node:tls";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { startListener } from "../../src/server/listener.ts";
import { SECURITY_HEADERS } from "../../src/server/security-headers.ts";
import { createAuthority } from "../egress/certificates.ts";
import { AUTH } from "../unit/transports/a2a-server.ts";
import { closeGrpcServers, startGrpcServer } from "./grpc-server.ts";

const authority = createAuthority("Listener test root");
const tls = authority.issue({ names: ["localhost"], addresses: ["127.0.0.1"] });
const { ca } = authority;

afterEach(closeGrpcServers);

describe("one port with TLS", () => {
  it("serves gRPC and Connect over HTTP/2, and Connect over HTTP/1.1, by ALPN", async () => {
    const { listener } = await startGrpcServer({}, { tls });
    expect(listener.url).toMatch(/^https:/);
    const nodeOptions = { ca };
    const baseUrl = listener.url;
    for (const transport of [
      createGrpcTransport({ baseUrl, nodeOptions }),
      createConnectTransport({ baseUrl, nodeOptions, httpVersion: "2" }),
      createConnectTransport({ baseUrl, nodeOptions, httpVersion: "1.1" }),
    ]) {
      const task = await createClient(A2AService, transport).getTask({ id: "T1" }, { headers: AUTH });
      expect(task.id).toBe("T1");
    }
  });

  it("serves a client without ALPN as HTTP/1.1, and refuses one that wants only something else", async () => {
    const { listener } = await startGrpcServer({}, { tls });
    const plain = tlsConnect({ host: "127.0.0.1", port: listener.port, ca, servername: "localhost" });
    await once(plain, "secureConnect");
    plain.write("GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const [answer] = (await once(plain, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 404 /);
    plain.destroy();
    const other = tlsConnect({ host: "127.0.0.1", port: listener.port, ca, ALPNProtocols: ["spdy/3"] });
    await expect(once(other, "secureConnect")).rejects.toThrow();
  });

  it.each([
    ["while the answer before it is still being written", true],
    ["when nothing is under way", false],
  ])("loses nothing of a large HTTP/1.1 body that arrives %s", async (_when, busy) => {
    const size = 300_000;
    const listener = await startListener({
      host: "127.0.0.1",
      port: 0,
      tls,
      handlers: [
        async (request, response) => {
          let received = 0;
          for await (const chunk of request) received += chunk.length;
          const answer = Buffer.from(request.url === "/large" ? "x".repeat(40_000_000) : `got ${received}`);
          (response as ServerResponse).writeHead(200, { "content-length": answer.length }).end(answer);
          return true;
        },
      ],
    });
    try {
      const client = tlsConnect({ host: "127.0.0.1", port: listener.port, ca, servername: "localhost" });
      await once(client, "secureConnect");
      // Unread, the answer fills every buffer on its way, so that the server's side waits for room.
      client.pause();
      if (busy) {
        client.write("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
        await delay(300);
      }
      const head = `POST /count HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${size}\r\n\r\n`;
      client.write(Buffer.concat([Buffer.from(head), Buffer.alloc(size, "y")]));
      if (busy) await delay(300);
      let tail = "";
      client.on("data", (chunk: Buffer) => {
        tail = (tail + chunk.toString("latin1")).slice(-200);
      });
      client.resume();
      await once(client, "end");
      expect(tail.slice(-10)).toBe(`got ${size}`);
    } finally {
      await listener.close();
    }
  });

  it("SB-54 has the security headers on both versions", async () => {
    const { listener } = await startGrpcServer({}, { tls });
    const [h1] = await once(httpsGet(`${listener.url}/none`, { ca }), "response");
    h1.resume();
    const session = h2connect(listener.url, { ca });
    const stream = session.request({ ":path": "/none" });
    const [h2] = await once(stream, "response");
    stream.resume();
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
      expect([h1.headers[name], h2[name]]).toEqual([value, value]);
    }
    session.destroy();
  });

  it("survives cleartext, garbage and silence on the TLS port", async () => {
    const { listener } = await startGrpcServer({}, { tls, limits: { sniffTimeoutMs: 200 } });
    for (const bytes of [
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "\x16\x03\x01",
      "",
    ]) {
      const socket = tcpConnect(listener.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write(bytes);
      socket.resume();
      await once(socket, "close");
    }
    const client = createClient(
      A2AService,
      createGrpcTransport({ baseUrl: listener.url, nodeOptions: { ca } }),
    );
    expect((await client.getTask({ id: "T1" }, { headers: AUTH })).id).toBe("T1");
  });

  it("tells a client over TLS that a request which crossed the GOAWAY was not processed", async () => {
    const server = await startGrpcServer({}, { tls });
    const session = h2connect(server.listener.url, { ca });
    session.on("error", () => {});
    const post = () => {
      const stream = session.request({
        ":method": "POST",
        ":path": "/lf.a2a.v1.A2AService/GetTask",
        "content-type": "application/json",
        ...AUTH,
      });
      stream.on("error", () => {});
      return stream;
    };
    const held = post();
    held.end('{"id":"slow"}');
    await expect.poll(() => server.slow.length).toBe(1);
    const drained = server.listener.drain(5_000);
    const crossing = post();
    crossing.end('{"id":"slow"}');
    await expect(once(crossing, "close")).rejects.toThrow("REFUSED_STREAM");
    expect(crossing.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM);
    expect(server.slow).toHaveLength(1);
    server.slow[0]?.answer();
    await drained;
  });

  it("G1 drains TLS sessions with GOAWAY, and finishes what is in flight", async () => {
    const server = await startGrpcServer({}, { tls });
    const session = h2connect(server.listener.url, { ca });
    const goaways: number[] = [];
    session.on("goaway", (_code, last) => goaways.push(last));
    session.on("error", () => {});
    const stream = session.request({
      ":method": "POST",
      ":path": "/lf.a2a.v1.A2AService/GetTask",
      "content-type": "application/json",
      ...AUTH,
    });
    stream.end('{"id":"slow"}');
    await expect.poll(() => server.slow.length).toBe(1);
    const drained = server.listener.drain(5_000);
    await expect.poll(() => goaways).toEqual([1]);
    server.slow[0]?.answer();
    let body = "";
    for await (const chunk of stream) body += chunk;
    expect(JSON.parse(body).id).toBe("slow");
    await drained;
  });

  it("refuses a key that does not fit, at start", async () => {
    const wrong = authority.issue({ names: ["localhost"] });
    await expect(startGrpcServer({}, { tls: { cert: tls.cert, key: wrong.key } })).rejects.toThrow(/key/i);
  });
});
