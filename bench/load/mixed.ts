/** Mixed traffic at a steady pace: reads, sends, listings, streams that come and go, work that is done. */
import { WorkerService } from "../../gen/baton/worker/v1/worker_pb.js";
import { ready } from "../program.ts";
import { openEventSockets } from "./event-sockets.ts";
import { grpcMethod } from "./grpc.ts";
import { holdTask, subscribeRequest } from "./held-task.ts";
import { RawHttp2 } from "./raw-http2.ts";
import { openCaller, promiseOf, type Subject, UNARY } from "./unary.ts";

/** Characters of a reason that are kept. */
const MOST_REASON = 400;

interface Order {
  readonly subject: Subject;
  readonly worker: string;
  /** Calls of each kind in a second. */
  readonly rate: number;
}

/** What the traffic was, and what went wrong in it: how often, by the kind of call and the reason. */
export interface Traffic {
  readonly calls: number;
  readonly errors: Readonly<Record<string, number>>;
}

let stopped = false;
let calls = 0;
const errors = new Map<string, number>();
let running: Promise<unknown>[] = [];

async function start({ subject, worker, rate }: Order): Promise<void> {
  const connection = await RawHttp2.connect(subject.port);
  await holdTask(connection, worker, subject.taskId);
  const claim = grpcMethod(connection, WorkerService.method.claim, worker);
  const complete = grpcMethod(connection, WorkerService.method.complete, worker);
  const kinds: Record<string, () => Promise<void>> = {
    "claim and complete": async () => {
      const { todo } = await claim({});
      if (todo !== undefined) await complete({ id: todo.id });
    },
    "streams that come and go": async () => {
      const request = subscribeRequest(subject.credential, subject.taskId);
      const { port } = subject;
      const streams = await openEventSockets({ port, count: 4, first: 1, request: () => request });
      await streams.close();
    },
  };
  for (const call of UNARY.filter((name) => name !== "grpc ListTasks")) {
    const [once] = (await openCaller(call, subject, 1)).calls;
    if (once !== undefined) kinds[call] = () => promiseOf(once);
  }
  running = Object.entries(kinds).map(([kind, once]) => pace(kind, once, rate));
}

async function pace(kind: string, once: () => Promise<void>, rate: number): Promise<void> {
  for (let due = performance.now(); !stopped; due += 1000 / rate) {
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    calls += 1;
    await once().catch((error: unknown) => note(kind, error));
  }
}

function note(kind: string, error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  const name = `${kind}: ${reason.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "<id>").slice(0, MOST_REASON)}`;
  errors.set(name, (errors.get(name) ?? 0) + 1);
}

async function stop(): Promise<Traffic> {
  stopped = true;
  await Promise.all(running);
  return { calls, errors: Object.fromEntries(errors) };
}

ready({}, { start, stop });
