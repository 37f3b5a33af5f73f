import { setTimeout as sleep } from "node:timers/promises";
import { isReplay } from "../../domain/openwop/fork.ts";
import { isEnded } from "../../domain/openwop/run-status.ts";
import type { RunRecord } from "../../store/run-records.ts";
import { HostRefusal, retryDelay } from "./client/errors.ts";
import type { FollowerMetrics, RunWatch } from "./follower-metrics.ts";
import type { HostLink } from "./host-link.ts";
import { NotOurs, type RunSync } from "./run-sync.ts";
import type { StreamSlots } from "./stream-slots.ts";

/** How long a suspension may stand without its interrupt before the snapshot is asked, in milliseconds. */
const LOOK_MS = 250;
const BACKOFF_CAP_MS = 10_000;
/** What a host may ask a follower to wait. */
const WAIT_CAP_MS = 60_000;
/** A stream that the host ends early is opened again after this. */
const REOPEN_MS = 200;
/** Answers in a row, over at least this time, that the run does not exist, before that is believed. */
const LOST_ANSWERS = 4;
const LOST_MS = 20_000;

export interface FollowOptions {
  readonly link: HostLink;
  readonly sync: RunSync;
  readonly slots: StreamSlots;
  readonly fence: string;
  readonly signal: AbortSignal;
  readonly metrics: FollowerMetrics;
  readonly watch: RunWatch;
  readonly pollMs: number;
  readonly pollCapMs: number;
  onError(error: unknown): void;
}

/**
 * Follows one run to its end: by its event stream while a stream is to be had, otherwise by looking at it. Comes back
 * from every fault with what it missed. Resolves when the run has ended, or is not ours any more.
 */
export async function followRun(start: RunRecord, options: FollowOptions): Promise<void> {
  const { sync, slots, signal, metrics, watch } = options;
  let record = start;
  let faults = 0;
  let pollMs = options.pollMs;
  let missing: { readonly since: number; readonly answers: number } | undefined;
  while (!signal.aborted && !isEnded(record.view.status)) {
    try {
      if (faults > 0) {
        record = (await sync.catchUp(record.id)) ?? record;
        watch.level();
      }
      const slot = isReplay(record.fork) ? undefined : slots.take();
      if (slot === undefined) {
        const before = record.version;
        metrics.polls++;
        const seen = await sync.catchUp(record.id);
        if (seen === undefined) return;
        watch.level();
        record = seen;
        pollMs = record.version === before ? Math.min(options.pollCapMs, pollMs * 2) : options.pollMs;
        await pause(pollMs * (0.75 + Math.random() / 2), signal);
      } else {
        pollMs = options.pollMs;
        try {
          record = await readStream(record, options, (moved) => {
            record = moved;
            faults = 0;
          });
        } finally {
          watch.close();
          slot.release();
        }
        if (!isEnded(record.view.status)) {
          await pause(REOPEN_MS, signal);
          record = (await sync.catchUp(record.id)) ?? record;
        }
      }
      faults = 0;
      missing = undefined;
    } catch (error) {
      if (error instanceof NotOurs || signal.aborted) return;
      if (isMissing(error)) {
        missing = { since: missing?.since ?? Date.now(), answers: (missing?.answers ?? 0) + 1 };
        if (missing.answers >= LOST_ANSWERS && Date.now() - missing.since >= LOST_MS) {
          await sync.lose(record, options.fence).catch(options.onError);
          return;
        }
      } else options.onError(error);
      faults++;
      metrics.faults++;
      await pause(Math.min(WAIT_CAP_MS, retryDelay(error, Math.min(faults, 10), BACKOFF_CAP_MS)), signal);
    }
  }
}

/** Reads the stream until the host ends it; `onMoved` is told of every record on the way. */
async function readStream(
  start: RunRecord,
  options: FollowOptions,
  onMoved: (record: RunRecord) => void,
): Promise<RunRecord> {
  const { link, sync, fence, signal, watch } = options;
  let record = start;
  const token = link.credentials.token(record.credential);
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const events = link.client.events(token, record.id, record.cursor, until, () => watch.open());
  let looked = "";
  try {
    let next = guarded(events.next());
    for (;;) {
      const waiting = record.view.suspending;
      const mark = waiting === undefined ? "" : `${waiting.id} ${waiting.key} ${waiting.nodeId}`;
      const look = mark !== "" && mark !== looked;
      const result = look ? await Promise.race([next, sleep(LOOK_MS)]) : await next;
      if (result === undefined) {
        looked = mark;
        record = await lookAt(record, sync);
        onMoved(record);
        continue;
      }
      if (result.done === true) return record;
      record = await sync.take(record, [result.value], fence);
      onMoved(record);
      if (isEnded(record.view.status)) return record;
      next = guarded(events.next());
    }
  } finally {
    stop.abort();
    await events.return(undefined).catch(() => {});
  }
}

/** A promise that is awaited later than it may fail. */
function guarded<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** The stored record knows nothing of what was only seen in memory, so the later of the two is taken. */
async function lookAt(record: RunRecord, sync: RunSync): Promise<RunRecord> {
  const seen = await sync.catchUp(record.id);
  if (seen === undefined) throw new NotOurs("gone");
  return seen.version === record.version && seen.cursor < record.cursor ? record : seen;
}

function isMissing(error: unknown): boolean {
  return error instanceof HostRefusal && (error.status === 404 || error.status === 410);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}
