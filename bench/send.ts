/** Starts a task at a server, by JSON-RPC, before the bench begins. */
import { randomUUID } from "node:crypto";

export async function sendTask(port: number, path: string, credential: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "a2a-version": "1.0",
      authorization: `Bearer ${credential}`,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: {
        message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "measure me" }] },
        configuration: { returnImmediately: true },
      },
    }),
  });
  const answer = (await response.json()) as { result?: { task: { id: string } } };
  if (answer.result === undefined) throw new Error(`no task was made: ${JSON.stringify(answer)}`);
  return answer.result.task.id;
}
