import { randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";

export type Major = 1 | 2;

export type RunStatus =
  | "pending"
  | "running"
  | "paused"
  | "waiting-approval"
  | "waiting-input"
  | "waiting-external"
  | "completed"
  | "failed"
  | "cancelling"
  | "cancelled";

export const TERMINAL_STATUS: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** Who an API key belongs to. */
export interface Principal {
  readonly tenant: string;
  readonly subject: string;
}

export interface RunEvent {
  readonly eventId: string;
  readonly runId: string;
  readonly type: string;
  readonly payload: Record<string, unknown>;
  readonly timestamp: string;
  readonly sequence: number;
  readonly schemaVersion: number;
  readonly nodeId?: string;
}

export interface Interrupt {
  readonly nodeId: string;
  readonly interruptId: string;
  readonly kind: string;
  readonly key: string;
  readonly data: Record<string, unknown>;
  readonly status: RunStatus;
  /** Subjects that accepted so far, for a quorum. */
  readonly votes: Set<string>;
}

export interface RunError {
  readonly code: string;
  readonly message: string;
}

export interface NewRun {
  readonly major: Major;
  readonly owner: Principal;
  readonly workflowId: string;
  readonly inputs: Record<string, unknown>;
  readonly tags: readonly string[];
  readonly metadata: Record<string, unknown>;
}

/** One run: its status, its open interrupt and its event log. Everything lives in memory. */
export class Run {
  readonly id: string;
  readonly made: NewRun;
  readonly events: RunEvent[] = [];
  readonly artifacts = new Map<string, Record<string, unknown>>();
  readonly changed = new EventEmitter().setMaxListeners(0);
  readonly startedAt = new Date().toISOString();
  status: RunStatus = "pending";
  interrupt: Interrupt | undefined;
  error: RunError | undefined;
  /** Where a fork came from; its first events are then history. */
  readonly forkOf: { readonly runId: string; readonly mode: string } | undefined;

  constructor(made: NewRun, forkOf?: { readonly runId: string; readonly mode: string }) {
    this.made = made;
    this.forkOf = forkOf;
    const opaque = randomBytes(16).toString("base64url");
    this.id = made.major === 1 ? `run_${opaque}` : `${made.owner.tenant}/r-${opaque}`;
  }

  get terminal(): boolean {
    return TERMINAL_STATUS.has(this.status);
  }

  get lastSequence(): number {
    return this.events.length - 1;
  }

  emit(type: string, payload: Record<string, unknown>, nodeId?: string): RunEvent {
    const event: RunEvent = {
      eventId: `ev_${randomBytes(8).toString("hex")}`,
      runId: this.id,
      type,
      payload,
      timestamp: new Date().toISOString(),
      sequence: this.events.length,
      schemaVersion: this.made.major === 1 ? 2 : 3,
      ...(nodeId === undefined ? {} : { nodeId }),
    };
    this.events.push(event);
    this.changed.emit("event", event);
    return event;
  }

  /** The body of `GET /runs/{runId}`. */
  snapshot(): Record<string, unknown> {
    const { owner, workflowId, tags, metadata, major } = this.made;
    return {
      runId: this.id,
      workflowId,
      status: this.status,
      tags,
      metadata,
      owner:
        major === 1
          ? { tenant: owner.tenant, principal: owner.subject }
          : { tenant: owner.tenant, subject: { subjectId: owner.subject, tenant: owner.tenant } },
      ...(this.interrupt === undefined ? {} : { currentNodeId: this.interrupt.nodeId }),
      ...(this.error === undefined ? {} : { error: this.error }),
      ...(major === 1 ? { startedAt: this.startedAt } : { eventLogSchemaVersion: 3 }),
    };
  }
}
