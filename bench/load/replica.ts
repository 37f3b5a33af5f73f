/**
 * Commits on one replica at a steady rate, and streams on another that they come out of. The text of an event is the
 * moment at which its worker's call was sent, by the clock of this process.
 */
import { ready } from "../program.ts";
import { percentile } from "../rows/row.ts";
import { type EventSockets, openEventSockets } from "./event-sockets.ts";
import { type HeldTask, holdTask, subscribeRequest } from "./held-task.ts";
import { RawHttp2 } from "./raw-http2.ts";

const MARK = Buffer.from("at=");
const DIGITS = 15;
const CONNECTIONS = 8;
/** Calls in flight on all connections; a server takes 1,000 on one. Beyond it the rate is not held, and the row is short. */
const MOST_IN_FLIGHT = 4000;

let tasks: HeldTask[] = [];
let streams: EventSockets | undefined;
let delays: number[] = [];

interface Order {
  /** Port of the replica with the workers, and of the one with the streams. */
  readonly commitPort: number;
  readonly streamPort: number;
  readonly credential: string;
  readonly worker: string;
  readonly taskIds: readonly string[];
}

async function open({ commitPort, streamPort, credential, worker, taskIds }: Order): Promise<void> {
  const connections = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => RawHttp2.connect(commitPort)),
  );
  const onOne = taskIds.map((id, index) => ({ id, connection: connections[index % CONNECTIONS] }));
  tasks = await Promise.all(
    onOne.flatMap(({ id, connection }) => (connection === undefined ? [] : holdTask(connection, worker, id))),
  );
  streams = await openEventSockets({
    port: streamPort,
    count: taskIds.length,
    first: 1,
    request: (index) => subscribeRequest(credential, taskIds[index] ?? ""),
    onChunk: note,
  });
}

function note(chunk: Buffer): void {
  const now = performance.now();
  for (let at = chunk.indexOf(MARK); at >= 0; at = chunk.indexOf(MARK, at + MARK.length)) {
    const sent = Number(chunk.toString("latin1", at + MARK.length, at + MARK.length + DIGITS)) / 1000;
    delays.push(now - sent);
  }
}

/** Delays in milliseconds. */
export interface ReplicaRound {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly lost: number;
}

/** Sends calls at the times at which they are due, however long the ones before them take. */
async function run({ rate, seconds }: { rate: number; seconds: number }): Promise<ReplicaRound> {
  delays = [];
  const started = performance.now();
  let sent = 0;
  let inFlight = 0;
  const failed: unknown[] = [];
  const calls: Promise<void>[] = [];
  for (let now = started; now < started + seconds * 1000; now = performance.now()) {
    for (const due = ((now - started) * rate) / 1000; sent < due && inFlight < MOST_IN_FLIGHT; sent += 1) {
      const text = `at=${String(Math.round(performance.now() * 1000)).padStart(DIGITS, "0")}`;
      const call = tasks[sent % tasks.length]?.report(text);
      if (call === undefined) continue;
      inFlight += 1;
      const settle = (): void => {
        inFlight -= 1;
      };
      calls.push(call.catch((error: unknown) => void failed.push(error)).then(settle));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(calls);
  if (failed.length > 0) throw failed[0];
  const elapsed = (performance.now() - started) / 1000;
  for (let wait = 0; wait < 100 && delays.length < sent; wait += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const sorted = [...delays].sort((a, b) => a - b);
  return {
    perSecond: sent / elapsed,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    lost: sent - delays.length,
  };
}

ready({}, { open, run, close: () => streams?.close() });
