/** The floor of the gRPC rows: `node:http2` alone. Reads the body, answers it as it came, knows no protobuf. */
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { ready } from "../program.ts";

const server = createServer();
server.on("stream", (stream) => {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.concat(chunks));
  });
  stream.on("error", () => {});
});
server.listen(0, "127.0.0.1", () => ready({ port: (server.address() as AddressInfo).port }));
