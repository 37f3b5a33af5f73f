/** A worker that claims and completes todos, many at once, and does nothing in between: as the library does, in one call. */
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import { ready } from "../program.ts";
import { grpcMethod } from "./grpc.ts";
import { RawHttp2 } from "./raw-http2.ts";

interface Order {
  readonly port: number;
  readonly credential: string;
  readonly concurrency: number;
  readonly count: number;
}

/** Drains the queue; answers todos per second. */
async function drain({ port, credential, concurrency, count }: Order): Promise<number> {
  const connection = await RawHttp2.connect(port);
  const claim = grpcMethod(connection, WorkerService.method.claim, credential);
  const complete = grpcMethod(connection, WorkerService.method.complete, credential);
  let done = 0;
  const loop = async () => {
    let { todo } = await claim({});
    while (todo !== undefined) {
      const { next } = await complete({ id: todo.id, claimNext: {} });
      done += 1;
      todo = next?.todo;
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: concurrency }, loop));
  const seconds = (performance.now() - started) / 1000;
  connection.close();
  if (done !== count) throw new Error(`${done} of ${count} todos were completed`);
  return done / seconds;
}

ready({}, { drain });
