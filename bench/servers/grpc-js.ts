/** GetTask in memory on `@grpc/grpc-js`, with protobuf-es for the messages. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type handleUnaryCall, Server, ServerCredentials, status } from "@grpc/grpc-js";
import {
  type GetTaskRequest,
  GetTaskRequestSchema,
  type Task,
  TaskSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { ready } from "../program.ts";
import { sampleTask, TASK_ID } from "./task.ts";

const tasks = new Map([[TASK_ID, sampleTask()]]);
const getTask: handleUnaryCall<GetTaskRequest, Task> = (call, callback) => {
  const task = tasks.get(call.request.id);
  if (task === undefined) callback({ code: status.NOT_FOUND });
  else callback(null, task);
};
const server = new Server();
server.addService(
  {
    GetTask: {
      path: "/lf.a2a.v1.A2AService/GetTask",
      requestStream: false,
      responseStream: false,
      requestSerialize: (message: GetTaskRequest) => Buffer.from(toBinary(GetTaskRequestSchema, message)),
      requestDeserialize: (bytes: Buffer) => fromBinary(GetTaskRequestSchema, bytes),
      responseSerialize: (message: Task) => Buffer.from(toBinary(TaskSchema, message)),
      responseDeserialize: (bytes: Buffer) => fromBinary(TaskSchema, bytes),
    },
  },
  { GetTask: getTask },
);
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  ready({ port, taskId: TASK_ID });
});
