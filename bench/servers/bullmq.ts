/** A BullMQ worker whose jobs do nothing, on the bench's Redis. */
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { ready, startedWith } from "../program.ts";

const { socketPath } = startedWith<{ socketPath: string }>();
const connect = () => new Redis({ path: socketPath, maxRetriesPerRequest: null });
const producer = connect();
const queue = new Queue("noop", { connection: producer });
const BULK = 500;

async function fill(count: number): Promise<void> {
  for (let left = count; left > 0; left -= BULK) {
    const data = { text: "measure me" };
    const jobs = Array.from({ length: Math.min(BULK, left) }, () => ({ name: "noop", data }));
    await queue.addBulk(jobs.map((job) => ({ ...job, opts: { removeOnComplete: true } })));
  }
}

/** Works until `count` jobs are done; answers jobs per second. */
async function drain({ count, concurrency }: { count: number; concurrency: number }): Promise<number> {
  const connection = connect();
  const worker = new Worker("noop", async () => {}, { connection, concurrency, autorun: false });
  let done = 0;
  const finished = Promise.withResolvers<void>();
  worker.on("completed", () => {
    done += 1;
    if (done === count) finished.resolve();
  });
  worker.on("error", (error) => finished.reject(error));
  await worker.waitUntilReady();
  const started = performance.now();
  void worker.run();
  await finished.promise;
  const seconds = (performance.now() - started) / 1000;
  await worker.close();
  connection.disconnect();
  return count / seconds;
}

ready({}, { fill, drain }, async () => producer.disconnect());
