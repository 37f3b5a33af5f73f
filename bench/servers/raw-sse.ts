/**
 * The floor of the fan-out rows: `node:http` alone. `GET` opens a stream of server-sent events; `POST` is one event,
 * whose frame is made once and written to every stream.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ready } from "../program.ts";

const streams = new Set<ServerResponse>();
let id = 0;
const server = createServer((request, response) => {
  if (request.method === "POST") {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const frame = Buffer.from(`id: ${++id}\ndata: ${Buffer.concat(chunks).toString()}\n\n`);
      for (const stream of streams) stream.write(frame);
      response.writeHead(200, { "content-length": 0 }).end();
    });
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.flushHeaders();
  streams.add(response);
  response.on("close", () => streams.delete(response));
});
// The publisher is silent for as long as streams are being opened.
server.keepAliveTimeout = 0;
server.listen({ host: "127.0.0.1", port: 0, backlog: 1024 }, () =>
  ready({ port: (server.address() as AddressInfo).port }),
);
