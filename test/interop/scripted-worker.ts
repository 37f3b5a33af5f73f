/** A worker that does what the text of a message says; the peers of other languages know these words. */
import { setTimeout as sleep } from "node:timers/promises";
import { TodoState } from "../../gen/baton/worker/v1/worker_pb.js";
import type { TestGateway } from "../gateway.ts";
import { TestWorker, workerTransport } from "../scenarios/actors.ts";

const part = (text: string) => ({ artifactId: "result", parts: [{ text }] });

/**
 * Works until it is stopped. `echo` completes; `slow` takes a second; `chunks` makes one artifact in three pieces; `ask`
 * asks and completes on the answer; `wait` never ends by itself.
 */
export async function startScriptedWorker(gateway: TestGateway): Promise<{ stop(): Promise<void> }> {
  const worker = new TestWorker(workerTransport(gateway.url, await gateway.vendWorker()));
  const stopping = new AbortController();
  const jobs = new Set<Promise<void>>();
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      const claimed = await worker.client
        .claim({ claimant: "script", wait: { seconds: 1n } }, { signal: stopping.signal })
        .catch(() => undefined);
      const content = claimed?.todo?.message?.parts[0]?.content;
      if (claimed?.todo === undefined || content?.case !== "text") continue;
      const job = perform(worker, claimed.todo.id, content.value).catch(() => {
        // Canceled meanwhile: the answer is refused, as it should be.
      });
      jobs.add(job);
      void job.finally(() => jobs.delete(job));
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await loop;
      await Promise.all(jobs);
    },
  };
}

async function perform(worker: TestWorker, id: string, text: string): Promise<void> {
  switch (text) {
    case "wait":
      return;
    case "slow":
      await sleep(500);
      await worker.progress(id, "half way");
      await sleep(500);
      await worker.complete(id, [part("slow done")]);
      return;
    case "chunks":
      await worker.artifact(id, part("one"));
      await worker.artifact(id, part("two"), { append: true });
      await worker.artifact(id, part("three"), { append: true, lastChunk: true });
      await worker.complete(id);
      return;
    case "ask":
      await worker.ask(id, "which?");
      for (;;) {
        const { todo } = await worker.client.getTodo({ id });
        if (todo?.state !== TodoState.INPUT_REQUIRED) break;
        await sleep(50);
      }
      await worker.complete(id, [part("asked")]);
      return;
    default:
      await worker.complete(id, [part(`${text} done`)]);
  }
}
