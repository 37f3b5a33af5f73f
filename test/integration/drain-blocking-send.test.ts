import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { startTestGateway } from "../gateway.ts";

describe("shutdown with a blocking SendMessage open (G13, H14)", () => {
  it("A2A-31 answers the task as it is at once instead of holding the drain up", async () => {
    const gateway = await startTestGateway();
    const credential = await gateway.vend();
    const sent = fetch(gateway.url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${credential}` },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "SendMessage",
        params: { message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "slow" }] } },
      }),
    });
    while (gateway.openStreams === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    const started = performance.now();
    const [response] = await Promise.all([sent, gateway.stop(10_000)]);
    const answer = (await response.json()) as { result: { task: { status: { state: string } } } };
    expect(answer.result.task.status.state).toBe("TASK_STATE_SUBMITTED");
    expect(performance.now() - started).toBeLessThan(5000);
  });
});
