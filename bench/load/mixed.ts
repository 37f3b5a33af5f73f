/** Mixed traffic at a steady pace: reads, sends, listings, streams that come and go, work that is done. */
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import { ready } from "../program.ts";
import { openEventSockets } from "./event-sockets.ts";
import { grpcMethod } from "./grpc.ts";
import { subscribeRequest } from "./held-task.ts";
import { RawHttp2 } from "./raw-http2.ts";
import { openCaller, promiseOf, type Subject, UNARY } from "./unary.ts";

interface Order {
  readonly subject: Subject;
  readonly worker: string;
  /** Calls of each kind in a second. */
  readonly rate: number;
}

let stopped = false;
let calls = 0;
let errors = 0;
let running: Promise<unknown>[] = [];

async function start({ subject, worker, rate }: Order): Promise<void> {
  const connection = await RawHttp2.connect(subject.port);
  const claim = grpcMethod(connection, WorkerService.method.claim, worker);
  const complete = grpcMethod(connection, WorkerService.method.complete, worker);
  const kinds: (() => Promise<void>)[] = [
    async () => {
      const { todo } = await claim({});
      if (todo !== undefined && todo.id !== subject.taskId) await complete({ id: todo.id });
    },
    async () => {
      const request = subscribeRequest(subject.credential, subject.taskId);
      const { port } = subject;
      const streams = await openEventSockets({ port, count: 4, first: 1, request: () => request });
      await streams.close();
    },
  ];
  for (const call of UNARY.filter((name) => name !== "grpc ListTasks")) {
    const [once] = (await openCaller(call, subject, 1)).calls;
    if (once !== undefined) kinds.push(() => promiseOf(once));
  }
  running = kinds.map((once) => pace(once, rate));
}

async function pace(once: () => Promise<void>, rate: number): Promise<void> {
  for (let due = performance.now(); !stopped; due += 1000 / rate) {
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    calls += 1;
    await once().catch(() => {
      errors += 1;
    });
  }
}

async function stop(): Promise<{ calls: number; errors: number }> {
  stopped = true;
  await Promise.all(running);
  return { calls, errors };
}

ready({}, { start, stop });
