/**
 * Commits on one replica at a steady rate, and streams on another that they come out of. The text of an event is the
 * moment at which its worker's call was due, by the clock of this process: that it was sent late counts as well.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ready } from "../program.ts";
import { percentile } from "../rows/row.ts";
import { type EventSockets, openEventSockets } from "./event-sockets.ts";
import { holdTask, subscribeRequest } from "./held-task.ts";
import { RawHttp2 } from "./raw-http2.ts";
import type { Taker } from "./taker.ts";

const MARK = Buffer.from("at=");
const DIGITS = 15;
const CONNECTIONS = 8;
/** Calls in flight on all connections; a server takes 1,000 on one. Beyond it the rate is not held, and the row is short. */
const MOST_IN_FLIGHT = 4000;

/** Sends the report of one task with a moment in it. */
type Report = (at: number, taker: Taker) => void;

let reports: Report[] = [];
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
  reports = await Promise.all(
    onOne.flatMap(({ id, connection }) => (connection === undefined ? [] : reportOf(connection, worker, id))),
  );
  streams = await openEventSockets({
    port: streamPort,
    count: taskIds.length,
    first: 1,
    request: (index) => subscribeRequest(credential, taskIds[index] ?? ""),
    onChunk: note,
  });
}

async function reportOf(connection: RawHttp2, worker: string, id: string): Promise<Report> {
  const task = await holdTask(connection, worker, id);
  const frames = task.frames(`${MARK}${"#".repeat(DIGITS)}`);
  const digitsAt = frames.bytes.indexOf(MARK) + MARK.length;
  return (at, taker) => {
    frames.bytes.write(String(Math.round(at * 1000)).padStart(DIGITS, "0"), digitsAt, "latin1");
    connection.send(frames, taker);
  };
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
  let failure: Error | undefined;
  const taker: Taker = {
    answered: () => {
      inFlight -= 1;
    },
    failed: (error) => {
      inFlight -= 1;
      failure ??= error;
    },
  };
  for (let now = started; now < started + seconds * 1000; now = performance.now()) {
    for (const due = ((now - started) * rate) / 1000; sent < due && inFlight < MOST_IN_FLIGHT; sent += 1) {
      inFlight += 1;
      reports[sent % reports.length]?.(started + (sent * 1000) / rate, taker);
    }
    await sleep(1);
  }
  while (inFlight > 0) await sleep(1);
  if (failure !== undefined) throw failure;
  const elapsed = (performance.now() - started) / 1000;
  for (let wait = 0; wait < 100 && delays.length < sent; wait += 1) {
    await sleep(20);
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
