/** One publisher and many streams of what it publishes, at Baton or at a bare server of events. */
import { setTimeout as sleep } from "node:timers/promises";
import { ready } from "../program.ts";
import { type EventSockets, openEventSockets } from "./event-sockets.ts";
import { holdTask, subscribeRequest } from "./held-task.ts";
import { RawHttp1 } from "./raw-http1.ts";
import { RawHttp2 } from "./raw-http2.ts";

export interface FanOutSubject {
  readonly port: number;
  /** Absent for the bare server. */
  readonly baton?: { readonly credential: string; readonly worker: string; readonly taskId: string };
}

/** Events published before all streams have the oldest of them: enough that the server never waits for us. */
const WINDOW = 8;
/** Longest wait for the last event, in milliseconds. */
const PATIENCE_MS = 60_000;

let streams: EventSockets | undefined;
let publish: ((text: string) => Promise<void>) | undefined;
let size = 0;

/** Opens `count` streams, after those of a time before were closed. */
async function open(subject: FanOutSubject & { count: number }): Promise<void> {
  const { port, baton, count } = subject;
  publish ??= await publisherOf(subject);
  const request =
    baton === undefined
      ? Buffer.from("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n")
      : subscribeRequest(baton.credential, baton.taskId);
  const first = baton === undefined ? 0 : 1;
  streams = await openEventSockets({ port, count, first, request: () => request });
  size = count;
}

async function publisherOf({ port, baton }: FanOutSubject): Promise<(text: string) => Promise<void>> {
  if (baton !== undefined) {
    const task = await holdTask(await RawHttp2.connect(port), baton.worker, baton.taskId);
    return (text) => task.report(text);
  }
  const connection = await RawHttp1.connect(port);
  return async (text) => {
    const body = rawEvent(text);
    const head = `POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    await connection.call(Buffer.from(head + body));
  };
}

/** What Baton sends for the same report, to the byte, but for the ids. */
function rawEvent(text: string): string {
  const id = "00000000-0000-4000-8000-000000000000";
  return JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    result: {
      artifactUpdate: {
        taskId: `td_${id}`,
        contextId: id,
        artifact: { artifactId: "progress", parts: [{ text }] },
      },
    },
  });
}

/** Publishes for so many seconds; answers deliveries per second until all streams have everything. */
async function run(seconds: number): Promise<number> {
  const { received, ended } = opened();
  let published = 0;
  const calls: (Promise<void> | undefined)[] = [];
  const started = performance.now();
  const until = started + seconds * 1000;
  const behind = () => published - (opened().received - received) / size;
  while (performance.now() < until) {
    if (behind() >= WINDOW) {
      // No spinning: Redis is on the same core.
      await sleep(1);
      continue;
    }
    published += 1;
    const text = `event ${String(published).padStart(12, "0")}`;
    calls.push(publish?.(text));
  }
  await Promise.all(calls);
  const late = performance.now() + PATIENCE_MS;
  while (behind() > 0) {
    if (opened().ended > ended) throw new Error(`${opened().ended - ended} streams were cut`);
    if (performance.now() > late) throw new Error(`${behind() * size} events never came`);
    await sleep(1);
  }
  return (published * size) / ((performance.now() - started) / 1000);
}

function opened(): EventSockets {
  if (streams === undefined) throw new Error("no streams are open");
  return streams;
}

ready({}, { open, run, close: () => opened().close() });
