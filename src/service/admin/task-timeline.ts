import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { DeadLetter as DeadLetterView, PushAttempt } from "../../../gen/baton/admin/v1/push_pb.js";
import { PushAttemptSchema } from "../../../gen/baton/admin/v1/push_pb.js";
import { type TimelineEntrySchema, TimelineKind } from "../../../gen/baton/admin/v1/task_pb.js";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { readNote } from "../../push/attempt-note.ts";
import type { LoggedEvent, TaskTrail, TrailLine } from "../../store/operator-tasks.ts";
import type { AttemptLine, DeadLetter } from "../../store/push-dead-letters.ts";
import { attemptView, letterView } from "./push-views.ts";
import { cut, lineOf } from "./task-views.ts";

type Entry = MessageInitShape<typeof TimelineEntrySchema>;

/** An entry with what it is ordered by. Times in milliseconds since the epoch. */
interface Placed {
  readonly at: number;
  readonly seq: number;
  readonly entry: Entry;
}

export interface TimelineSources {
  readonly trail: TaskTrail;
  /** Attempts to push and pushes that were given up, of this task. */
  readonly attempts: readonly AttemptLine[];
  readonly dead: readonly DeadLetter[];
}

const MAX_QUOTE = 200;

/** What is done to a task without an event of its log; their number is that of the last event before. */
const BESIDE_THE_LOG: Readonly<Record<string, TimelineKind>> = {
  message: TimelineKind.MESSAGE,
  push_config_set: TimelineKind.ACTION,
  push_config_deleted: TimelineKind.ACTION,
  push_replay: TimelineKind.ACTION,
};

/** The gateway's words for what happens, in those of people. `by` says who did it. */
const SENTENCES: ReadonlyMap<string, (by: string) => string> = new Map(
  Object.entries({
    create: (by: string) => `sent by ${by}`,
    claim: (by: string) => `claimed by ${by}`,
    progress: (by: string) => `progress from ${by}`,
    complete: (by: string) => `completed by ${by}`,
    fail_retry: (by: string) => `attempt failed, said ${by}; it will be retried`,
    fail_dead: (by: string) => `failed for good, said ${by}`,
    release: (by: string) => `given back by ${by}`,
    reject: (by: string) => `rejected by ${by}`,
    require_input: (by: string) => `${by} asks for input`,
    require_auth: (by: string) => `${by} asks for authorization`,
    reply: (by: string) => `answered by ${by}`,
    resume: (by: string) => `${by} goes on`,
    lease_requeue: () => "the lease lapsed; it can be claimed again",
    lease_dead: () => "the lease of the last attempt lapsed: failed for good",
    interrupt_timeout: () => "nobody answered in time: failed for good",
    retry: (by: string) => `made claimable again by ${by}`,
    cancel: (by: string) => `canceled by ${by}`,
    revoke: () => "its endpoint ended: failed for good",
    run: () => "its run moved on",
    artifact: (by: string) => `artifact from ${by}`,
    message: (by: string) => `message from ${by}`,
    push_config_set: (by: string) => `push config set by ${by}`,
    push_config_deleted: (by: string) => `push config deleted by ${by}`,
    push_replay: (by: string) => `push replayed by ${by}`,
  }),
);

/** What happened to a task, oldest first. */
export function timeline({ trail, attempts, dead }: TimelineSources): Entry[] {
  const placed = [
    ...ofTheTask(trail),
    ...attempts.flatMap((line) => pushed(line) ?? []),
    ...dead.map(givenUp),
  ];
  placed.sort((a, b) => a.at - b.at || a.seq - b.seq);
  let previous: number | undefined;
  return placed.map(({ at, entry }) => {
    const since = previous === undefined ? {} : { sincePrevious: durationFromMs(Math.max(0, at - previous)) };
    previous = at;
    return { ...entry, time: timestampFromMs(Math.floor(at)), ...since };
  });
}

/** The audit and the log of a task tell the same things: who did it, and what the client was told. */
function ofTheTask({ createdAt, lines, events }: TaskTrail): Placed[] {
  const told = new Map(events.map((logged) => [logged.event.seq, logged]));
  const placed = lines.map((line) => {
    const beside = Object.hasOwn(BESIDE_THE_LOG, line.event) ? BESIDE_THE_LOG[line.event] : undefined;
    if (beside !== undefined) return fromLine(line, beside);
    const logged = told.get(line.seq);
    told.delete(line.seq);
    return logged === undefined ? fromLine(line, TimelineKind.STATUS) : fromBoth(line, logged);
  });
  // What nobody was noted for: artifacts of a completion, and events older than the audit that is kept.
  let at = createdAt;
  for (const logged of told.values()) {
    at = logged.at ?? timeOf(logged) ?? at;
    placed.push({ at, seq: logged.event.seq, entry: fromEvent(logged, "") });
  }
  return placed;
}

function fromLine(line: TrailLine, kind: TimelineKind): Placed {
  const entry = { kind, ...who(line), summary: sentence(line), ...statesOf(line) };
  return { at: line.at, seq: line.seq, entry };
}

function fromBoth(line: TrailLine, logged: LoggedEvent): Placed {
  const entry = { ...fromEvent(logged, sentence(line)), ...who(line), ...statesOf(line) };
  return { at: line.at, seq: line.seq, entry };
}

function who({ actor, event }: TrailLine) {
  return { actor, event };
}

/** A run has no states of a todo. */
function statesOf({ from, to }: TrailLine) {
  return to === "run" ? {} : { fromState: from, toState: to };
}

function sentence({ event, actor }: TrailLine): string {
  return SENTENCES.get(event)?.(cut(actor, MAX_QUOTE) || "somebody") ?? event;
}

function fromEvent({ event }: LoggedEvent, said: string): Entry {
  const { payload } = event.message;
  const sequence = BigInt(event.seq);
  if (payload.case === "artifactUpdate") {
    const artifactId = payload.value.artifact?.artifactId ?? "";
    const name = cut(payload.value.artifact?.name || artifactId, MAX_QUOTE);
    const summary = `${said || "artifact"}: ${name}`;
    return { kind: TimelineKind.ARTIFACT, sequence, artifactId, summary };
  }
  const status = payload.case === "statusUpdate" ? payload.value.status : undefined;
  const state = status?.state ?? TaskState.UNSPECIFIED;
  const quote = lineOf(status?.message, MAX_QUOTE);
  const words = [said || wordOf(state), ...(quote === "" ? [] : [quote])];
  return {
    kind: TimelineKind.STATUS,
    sequence,
    state,
    summary: words.join(": "),
    ...(status?.message === undefined ? {} : { message: status.message }),
  };
}

function timeOf({ event }: LoggedEvent): number | undefined {
  const { payload } = event.message;
  const time = payload.case === "statusUpdate" ? payload.value.status?.timestamp : undefined;
  return time === undefined ? undefined : timestampMs(time);
}

function wordOf(state: TaskState): string {
  return (TaskState[state] ?? "").toLowerCase().replaceAll("_", "-");
}

function pushed(line: AttemptLine): Placed | undefined {
  const note = readNote(line.note);
  const view = attemptView(line.taskId, line.seq, note);
  if (note === undefined || view === undefined) return undefined;
  const pushAttempt: PushAttempt = create(PushAttemptSchema, view);
  const outcome =
    note.outcome === "delivered" ? "delivered" : `failed: ${note.status ?? note.reason ?? "unknown"}`;
  const summary = `push ${line.seq} to ${note.host}, attempt ${note.attempt}: ${outcome}`;
  const entry = {
    kind: TimelineKind.PUSH_ATTEMPT,
    actor: note.host,
    sequence: BigInt(line.seq),
    summary,
    pushAttempt,
  };
  return { at: note.at, seq: line.seq, entry };
}

function givenUp(letter: DeadLetter): Placed {
  const deadLetter: DeadLetterView = letterView(letter);
  const summary = `push ${letter.seq} to ${letter.host} given up after ${letter.attempts} attempts: ${letter.reason}`;
  const entry = {
    kind: TimelineKind.PUSH_DEAD,
    actor: letter.host,
    sequence: BigInt(letter.seq),
    summary,
    deadLetter,
  };
  return { at: letter.deadAt, seq: letter.seq, entry };
}
