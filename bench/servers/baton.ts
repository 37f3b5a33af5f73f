/** Baton with its embedded Redis and an append-only file. Prints its Subject as one line of JSON. */
import { randomUUID } from "node:crypto";
import { startTestGateway } from "../../test/gateway.ts";
import type { Subject } from "../load/calls.ts";

const gateway = await startTestGateway({
  streams: { perEndpoint: 100_000 },
  agents: { default: { queues: ["default", "idle"], defaultQueue: "default" } },
});
const credential = await gateway.vend({ queues: ["default"] });
const worker = await gateway.vendWorker({ queues: ["default"] });
// The work of the streams is done in a process of its own, as users do it.
process.stdout.write(`${JSON.stringify({ workerCredential: worker, url: gateway.url })}\n`);

async function rpc(method: string, params: object): Promise<{ task: { id: string } }> {
  const response = await fetch(gateway.url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${credential}` },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result } = (await response.json()) as { result: { task: { id: string } } };
  return result;
}

const { task } = await rpc("SendMessage", {
  message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "measure me" }] },
});
const subject: Subject = {
  url: gateway.url,
  grpc: gateway.url.replace("http://", ""),
  jsonrpcPath: "/",
  restPath: "",
  credential,
  taskId: task.id,
};
process.stdout.write(`${JSON.stringify(subject)}\n`);
process.once("SIGTERM", () => void gateway.stop(100).then(() => process.exit(0)));
