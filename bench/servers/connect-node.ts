/** GetTask in memory on connect-node, asked by gRPC over h2c. */
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { ready } from "../program.ts";
import { sampleTask, TASK_ID } from "./task.ts";

const tasks = new Map([[TASK_ID, sampleTask()]]);
const server = createServer(
  connectNodeAdapter({
    routes: (router) => {
      router.service(A2AService, {
        getTask({ id }) {
          const task = tasks.get(id);
          if (task === undefined) throw new ConnectError("no such task", Code.NotFound);
          return task;
        },
      });
    },
  }),
);
server.listen(0, "127.0.0.1", () => ready({ port: (server.address() as AddressInfo).port, taskId: TASK_ID }));
