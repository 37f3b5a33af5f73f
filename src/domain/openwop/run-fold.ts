import {
  type Interrupt,
  kindOfStatus,
  mergeInterrupt,
  readInterrupt,
  sameInterrupt,
  statusOfKind,
  textOf,
} from "./interrupt.ts";
import { isEnded, isWaiting } from "./run-status.ts";

/** What Baton keeps of a run to read its next events: nothing of its inputs, outputs or inner work. */
export interface RunView {
  readonly status: string;
  /** The open interrupt. */
  readonly interrupt: Interrupt | undefined;
  /** A suspension whose interrupt has not been told yet. */
  readonly suspending: Interrupt | undefined;
  /** Marks of interrupts that were left, newest last, so that a late twin does not open them again. */
  readonly left: readonly string[];
  readonly errorCode: string;
}

export const NEW_RUN: RunView = {
  status: "pending",
  interrupt: undefined,
  suspending: undefined,
  left: [],
  errorCode: "",
};

/** A run event as Baton reads it (openwop.md 1.3). */
export interface FoldEvent {
  readonly type: string;
  readonly sequence: number;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly timestamp?: string | undefined;
  readonly nodeId?: string | null | undefined;
}

/** What an event changes for the client. Times in milliseconds since the epoch; undefined: not told. */
export type Effect =
  | {
      readonly kind: "status";
      readonly view: RunView;
      readonly errorText: string;
      readonly at: number | undefined;
    }
  | { readonly kind: "artifact"; readonly artifactId: string; readonly name: string }
  | { readonly kind: "outputs"; readonly outputs: Readonly<Record<string, unknown>> };

export interface Folded {
  readonly view: RunView;
  readonly effects: readonly Effect[];
}

const MAX_LEFT = 64;

/** Kind of the interrupt that an older twin event stands for. */
const TWINS: Readonly<Record<string, string>> = {
  "approval.requested": "approval",
  "clarification.requested": "clarification",
};

/**
 * Takes one event of the log into the view. The caller hands events in order and each sequence once. An ended run
 * takes no more; events of the inner work (`agent.*`, usage, logs, chunks) have no effect at all (OW-61).
 */
export function foldEvent(view: RunView, event: FoldEvent): Folded {
  if (isEnded(view.status)) return { view, effects: [] };
  const { payload } = event;
  const nodeId = event.nodeId ?? "";
  switch (event.type) {
    case "run.started":
      return view.status === "pending" ? moved(view, { ...view, status: "running" }, event) : same(view);
    case "run.paused":
      return moved(view, { ...view, status: "paused" }, event);
    case "run.resumed":
      return moved(view, { ...view, status: resumed(view) }, event);
    case "node.suspended":
      return suspended(view, readInterrupt(payload, nodeId));
    case "interrupt.requested":
    case "approval.requested":
    case "clarification.requested":
      return requested(view, readInterrupt(payload, nodeId, TWINS[event.type]), event);
    case "interrupt.resolved":
      return resolved(view, readInterrupt(payload, nodeId), event);
    case "artifact.created": {
      const artifactId = textOf(payload.artifactId);
      if (artifactId === "") return same(view);
      return { view, effects: [{ kind: "artifact", artifactId, name: textOf(payload.summary) }] };
    }
    case "run.completed":
      return ended(view, "completed", event);
    case "run.failed":
      return ended(view, "failed", event);
    case "run.cancelled":
      return ended(view, "cancelled", event);
    default:
      return same(view);
  }
}

/** What a snapshot of the run says. */
export interface FoldSnapshot {
  readonly status: string;
  readonly currentNodeId?: string | null | undefined;
  readonly error?:
    | { readonly code?: string | undefined; readonly message?: string | undefined }
    | null
    | undefined;
}

/** Whether a snapshot agrees with the view, so that there is nothing to catch up with. */
export function agrees(view: RunView, snapshot: FoldSnapshot): boolean {
  if (view.suspending !== undefined && isWaiting(snapshot.status)) return false;
  if (view.status !== snapshot.status) return false;
  const node = snapshot.currentNodeId ?? "";
  return !isWaiting(snapshot.status) || node === "" || view.interrupt?.nodeId === node;
}

/**
 * Brings the view to a snapshot, where the log has nothing more to say but the two differ. Only to be used with a
 * snapshot that was read before the log was found to be exhausted: then it cannot be older than the view.
 */
export function foldSnapshot(view: RunView, snapshot: FoldSnapshot, at: number): Folded {
  if (isEnded(view.status) || agrees(view, snapshot)) return same(view);
  const event: FoldEvent = {
    type: "snapshot",
    sequence: -1,
    payload: { error: snapshot.error ?? {} },
    timestamp: new Date(at).toISOString(),
  };
  if (isEnded(snapshot.status)) return ended(view, snapshot.status, event);
  if (!isWaiting(snapshot.status)) {
    return moved(view, leave({ ...view, status: snapshot.status }, view.interrupt), event);
  }
  const nodeId = snapshot.currentNodeId ?? "";
  const known = [view.suspending, view.interrupt].find(
    (candidate) => candidate !== undefined && (nodeId === "" || candidate.nodeId === nodeId),
  );
  const bare = known ?? readInterrupt({ nodeId }, nodeId);
  const interrupt = bare.kind === "" ? { ...bare, kind: kindOfStatus(snapshot.status) } : bare;
  return moved(view, { ...view, status: snapshot.status, interrupt, suspending: undefined }, event);
}

function same(view: RunView): Folded {
  return { view, effects: [] };
}

/** A status effect where the client can see a difference; otherwise the new view alone. */
function moved(before: RunView, after: RunView, event: FoldEvent, errorText = ""): Folded {
  if (appearance(before) === appearance(after)) return { view: after, effects: [] };
  return { view: after, effects: [{ kind: "status", view: after, errorText, at: timeOf(event) }] };
}

/** What a client can tell apart: `cancelling` looks like `running`, an open interrupt shows its kind. */
function appearance({ status, interrupt }: RunView): string {
  const shown = status === "cancelling" ? "running" : status;
  return `${shown} ${interrupt === undefined ? "" : `${interrupt.kind} ${marks(interrupt).join(" ")}`}`;
}

function resumed(view: RunView): string {
  return view.interrupt === undefined ? "running" : statusOfKind(view.interrupt.kind);
}

function suspended(view: RunView, notice: Interrupt): Folded {
  if (wasLeft(view, notice)) return same(view);
  if (view.interrupt !== undefined && sameInterrupt(view.interrupt, notice)) return same(view);
  return same({ ...view, suspending: notice });
}

function requested(view: RunView, notice: Interrupt, event: FoldEvent): Folded {
  const { interrupt: open, suspending } = view;
  if (open !== undefined && sameInterrupt(open, notice)) {
    const merged = mergeInterrupt(open, notice);
    const after = { ...view, interrupt: merged };
    return merged.kind === open.kind ? same(after) : moved(view, after, event);
  }
  const known = suspending !== undefined && sameInterrupt(suspending, notice);
  const interrupt = known ? mergeInterrupt(suspending, notice) : notice;
  if (wasLeft(view, interrupt)) return same(view);
  // A twin that names neither id nor key is only believed while its node is known to be suspended.
  if (event.type in TWINS && !known && interrupt.id === "" && interrupt.key === "") return same(view);
  const status = statusOfKind(interrupt.kind);
  return moved(view, { ...view, status, interrupt, suspending: undefined }, event);
}

function resolved(view: RunView, notice: Interrupt, event: FoldEvent): Folded {
  const open = [view.interrupt, view.suspending].find(
    (candidate) => candidate !== undefined && sameInterrupt(candidate, notice),
  );
  if (open === undefined) return same({ ...view, left: remember(view.left, marks(notice)) });
  if (view.interrupt === undefined) return same(leave(view, open));
  return moved(view, leave({ ...view, status: "running" }, open), event);
}

function ended(view: RunView, status: string, event: FoldEvent): Folded {
  const error = event.payload.error as { code?: unknown; message?: unknown } | undefined;
  const after = { ...leave({ ...view, status }, view.interrupt), errorCode: codeOf(error?.code) };
  const outputs = event.payload.outputs;
  const results: Effect[] =
    status === "completed" && typeof outputs === "object" && outputs !== null
      ? [{ kind: "outputs", outputs: outputs as Record<string, unknown> }]
      : [];
  const { effects } = moved(view, after, event, textOf(error?.message));
  return { view: after, effects: [...results, ...effects] };
}

function leave(view: RunView, interrupt: Interrupt | undefined): RunView {
  const left = interrupt === undefined ? view.left : remember(view.left, marks(interrupt));
  return { ...view, interrupt: undefined, suspending: undefined, left };
}

function marks({ id, key }: Interrupt): string[] {
  return [...(id === "" ? [] : [`id:${id}`]), ...(key === "" ? [] : [`key:${key}`])];
}

/** By id where the notice has one: a host may use a key again, an id never. */
function wasLeft(view: RunView, { id, key }: Interrupt): boolean {
  if (id !== "") return view.left.includes(`id:${id}`);
  return key !== "" && view.left.includes(`key:${key}`);
}

function remember(left: readonly string[], added: readonly string[]): string[] {
  return [...left.filter((mark) => !added.includes(mark)), ...added].slice(-MAX_LEFT);
}

function timeOf(event: FoldEvent): number | undefined {
  const at = event.timestamp === undefined ? Number.NaN : Date.parse(event.timestamp);
  return Number.isFinite(at) && at > 0 ? at : undefined;
}

/** A run error code may be shown only as a plain word. */
function codeOf(value: unknown): string {
  return typeof value === "string" && /^[A-Za-z0-9_.:-]{1,64}$/.test(value) ? value : "";
}
