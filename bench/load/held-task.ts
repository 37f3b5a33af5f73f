/** A task that a worker holds and reports on. */

import { create, toBinary } from "@bufbuild/protobuf";
import { AddArtifactRequestSchema, WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import { grpcFrame, grpcHeaders, grpcMethod } from "./grpc.ts";
import { type RawHttp2, RequestFrames } from "./raw-http2.ts";
import { promised } from "./taker.ts";

export interface HeldTask {
  /** Reports the text as the newest state of one artifact: one commit, one event. */
  report(text: string): Promise<void>;
  /** The call that reports the text, to be sent as often as one likes. */
  frames(text: string): RequestFrames;
}

/** Claims a task for a day: a lease that lapses five times is the end of its task. */
export async function holdTask(connection: RawHttp2, credential: string, id: string): Promise<HeldTask> {
  const claim = grpcMethod(connection, WorkerService.method.claimById, credential);
  await claim({ id, leaseTtl: { seconds: 86_400n } });
  const headers = grpcHeaders(`/${WorkerService.typeName}/AddArtifact`, credential);
  const frames = (text: string) => {
    const request = create(AddArtifactRequestSchema, {
      id,
      artifact: { artifactId: "progress", parts: [{ content: { case: "text", value: text } }] },
    });
    return new RequestFrames(headers, grpcFrame(toBinary(AddArtifactRequestSchema, request)));
  };
  return {
    frames,
    async report(text) {
      await promised((taker) => connection.send(frames(text), taker));
    },
  };
}

export function subscribeRequest(credential: string, taskId: string): Buffer {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params: { id: taskId } });
  const lines = [
    "POST / HTTP/1.1",
    "host: 127.0.0.1",
    "accept: text/event-stream",
    "a2a-version: 1.0",
    `authorization: Bearer ${credential}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
}
