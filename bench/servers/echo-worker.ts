/** Completes every todo with its own parts: `node bench/servers/echo-worker.ts <url> <credential>`. */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";

const [url, credential] = process.argv.slice(2);
const client = createClient(
  WorkerService,
  createGrpcTransport({
    baseUrl: url ?? "",
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${credential}`);
        return next(request);
      },
    ],
  }),
);

async function work(): Promise<void> {
  for (;;) {
    const { todo } = await client.claim({ wait: { seconds: 30n } });
    if (todo === undefined) continue;
    await client.complete({
      id: todo.id,
      artifacts: [{ artifactId: "echo", parts: todo.message?.parts ?? [] }],
    });
  }
}

await Promise.all(Array.from({ length: 8 }, work));
