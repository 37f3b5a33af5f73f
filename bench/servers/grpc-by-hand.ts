/** GetTask in memory, as a gRPC handler written by hand on `node:http2` with protobuf-es. */
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { GetTaskRequestSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { ready } from "../program.ts";
import { sampleTask, TASK_ID } from "./task.ts";

const tasks = new Map([[TASK_ID, sampleTask()]]);
const server = createServer();
server.on("stream", (stream) => {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => {
    const body = Buffer.concat(chunks);
    const request = fromBinary(GetTaskRequestSchema, body.subarray(5, 5 + body.readUInt32BE(1)));
    const task = tasks.get(request.id);
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": task === undefined ? "5" : "0" }));
    const message = task === undefined ? Buffer.alloc(0) : toBinary(TaskSchema, task);
    const frame = Buffer.allocUnsafe(5 + message.length);
    frame[0] = 0;
    frame.writeUInt32BE(message.length, 1);
    frame.set(message, 5);
    stream.end(frame);
  });
  stream.on("error", () => {});
});
server.listen(0, "127.0.0.1", () => ready({ port: (server.address() as AddressInfo).port, taskId: TASK_ID }));
