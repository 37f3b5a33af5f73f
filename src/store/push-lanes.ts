import { type TraceContext, traceContextOf } from "../domain/trace-context.ts";
import type { RedisConnection, Reply } from "./connection.ts";
import { outboxChannel, pushGoneChannel, pushHostKey } from "./keys.ts";
import type { PushConfigRecord, PushVersion } from "./push-configs.ts";
import { type LaneLimits, type LaneStep, LaneSteps, type Settlement } from "./push-steps.ts";
import { runKeyedScript, runScript } from "./script.ts";
import { verdictOf } from "./tasks.ts";

/** A lane that has to be queued; `gen` tells its turns apart. */
export interface LaneTurn {
  readonly ref: string;
  readonly gen: number;
}

/** The next push of a lane, and all that sending it needs. Times in milliseconds since the epoch. */
export interface LaneHead {
  readonly kind: "head";
  readonly taskId: string;
  readonly config: PushConfigRecord;
  /** Sealed credential; empty where there is none, or no longer. */
  readonly sealed: string;
  readonly seq: number;
  readonly committedAt: number;
  /** What `bytes` are: StreamResponse (1.0) or Task (0.3). */
  readonly version: PushVersion;
  readonly bytes: Buffer;
  /** Attempts that were made and failed. */
  readonly attempts: number;
  /** A place at the receiver's limiter that was reserved for this push. */
  readonly reserved: boolean;
  readonly firstAttemptAt: number | undefined;
  /** Where it hangs in a trace; absent: the change that caused it belonged to none. */
  readonly trace: PushTrace | undefined;
}

export interface PushTrace {
  readonly parent: TraceContext;
  /** The change that caused it, where that belongs to another trace than the task. */
  readonly cause: TraceContext | undefined;
}

export type LaneState =
  | LaneHead
  /** Nothing is left; the lane rests. */
  | { readonly kind: "empty" }
  /** The config was deleted. */
  | { readonly kind: "gone" }
  /** The job was overtaken by a later one. */
  | { readonly kind: "stale" }
  /** Another worker took the lane over. */
  | { readonly kind: "fenced" }
  /** Another worker holds it for this long. */
  | { readonly kind: "busy"; readonly waitMs: number }
  /** Put back, to go on later. */
  | { readonly kind: "waiting"; readonly attempts: number };

export interface LaneView {
  readonly ref: string;
  readonly taskId: string;
  readonly configId: string;
  readonly host: string;
  readonly attempts: number;
  readonly depth: number;
  readonly oldestAt: number;
  /** The last failure as JSON; empty where there was none. */
  readonly note: string;
}

export interface LaneReport {
  /** Lanes with work, entries not yet relayed, dead letters. */
  readonly lanes: number;
  readonly outbox: number;
  readonly dead: number;
  /** The lanes that wait longest. */
  readonly oldest: readonly LaneView[];
}

/** Limits of one receiving host; see PushConfig in config/schema.ts. */
export interface HostLimits {
  readonly perSecond: number;
  readonly burst: number;
  /** Failures in a row that open the breaker, and for how long, in milliseconds: doubling from base to max. */
  readonly failures: number;
  readonly openMs: number;
  readonly openMaxMs: number;
}

export type Admission =
  | { readonly kind: "go"; readonly failures: number }
  | { readonly kind: "wait" | "open"; readonly waitMs: number };

interface KnownConfig {
  readonly text: Buffer;
  readonly record: PushConfigRecord;
}

/** How long an unqueued or forgotten lane is left alone before it is queued again. */
const GRACE_MS = 10_000;
const RELAY_BATCH = 500;
/** Bytes that one call moves, and the last entry of it more: Redis serves nobody else meanwhile. */
const RELAY_ROOM = 8 * 1024 * 1024;

/** The outbox and the lanes of push configs. Every method is atomic; takes and outcomes of one moment share a call. */
export class PushLaneStore {
  readonly #redis: RedisConnection;
  readonly #limits: LaneLimits;
  /** By agent and holder. */
  readonly #steps = new Map<string, LaneSteps>();
  /** Configs of the lanes that are held, as read the last time. */
  readonly #configs = new Map<string, KnownConfig>();

  constructor(redis: RedisConnection, limits: LaneLimits) {
    this.#redis = redis;
    this.#limits = limits;
  }

  /** Moves a batch from the outbox to its lanes; `more` where some are left. */
  async relay(
    agent: string,
  ): Promise<{ readonly moved: number; readonly more: boolean; readonly turns: LaneTurn[] }> {
    const { depth, bytes, deadMs, deadCount, deadBytes } = this.#limits;
    const args = {
      limit: RELAY_BATCH,
      room: RELAY_ROOM,
      depth,
      lanebytes: bytes,
      grace: GRACE_MS,
      ttl: deadMs,
      deadlimit: deadCount,
      deadbytes: deadBytes,
    };
    const [moved, left, ...turns] = listOf(await runScript(this.#redis, "push_relay", agent, args));
    return { moved: Number(moved), more: Number(left) === 1, turns: turnsOf(turns) };
  }

  /** Lanes with work whose job is missing. */
  async due(agent: string): Promise<LaneTurn[]> {
    const args = { limit: RELAY_BATCH, grace: GRACE_MS };
    return turnsOf(listOf(await runScript(this.#redis, "push_due", agent, args)));
  }

  /** Takes a lane for delivering. `holder` is one process's. */
  async take(agent: string, turn: LaneTurn, holder: string): Promise<LaneState> {
    return this.#step(agent, holder, { verb: "take", ref: turn.ref, at: turn.gen });
  }

  /** Records the outcome of the first push and answers the next one. */
  async settle(
    agent: string,
    ref: string,
    holder: string,
    seq: number,
    settlement: Settlement,
  ): Promise<LaneState> {
    return this.#step(agent, holder, { ...settlement, ref, at: seq });
  }

  async report(agent: string, limit: number): Promise<LaneReport> {
    const reply = listOf(await runScript(this.#redis, "push_lanes", agent, { limit }));
    const [lanes, outbox, dead, ...rest] = reply;
    const oldest: LaneView[] = [];
    for (let i = 0; i + 1 < rest.length; i += 2) oldest.push(laneOf(String(rest[i]), rest[i + 1]));
    return { lanes: Number(lanes), outbox: Number(outbox), dead: Number(dead), oldest };
  }

  /** Whether a request to a host may start now. */
  async admit(host: string, limits: HostLimits, reserved: boolean, probeMs: number): Promise<Admission> {
    return this.#host("admit", host, limits, reserved, probeMs);
  }

  /** Tells the breaker of a host what came of a request. */
  async tell(host: string, limits: HostLimits, ok: boolean): Promise<Admission> {
    return this.#host(ok ? "ok" : "fail", host, limits, false, 0);
  }

  async onOutbox(agent: string, callback: () => void): Promise<void> {
    await this.#redis.subscribe(outboxChannel(agent), callback);
  }

  /** Calls back with the ref of each config that is deleted on any replica. */
  async onGone(agent: string, callback: (ref: string) => void): Promise<void> {
    await this.#redis.subscribe(pushGoneChannel(agent), (payload) => callback(payload.toString()));
  }

  async #step(agent: string, holder: string, step: LaneStep): Promise<LaneState> {
    const name = `${agent} ${holder}`;
    let steps = this.#steps.get(name);
    if (steps === undefined) {
      steps = new LaneSteps(this.#redis, agent, holder, this.#limits);
      this.#steps.set(name, steps);
    }
    const { verdict, rest } = verdictOf(await steps.take(step));
    if (verdict !== "head") {
      this.#configs.delete(step.ref);
      return stateOf(verdict, rest);
    }
    const [head, config] = headOf(rest, this.#configs.get(step.ref));
    this.#configs.set(step.ref, config);
    return head;
  }

  async #host(
    verb: string,
    host: string,
    limits: HostLimits,
    reserved: boolean,
    probeMs: number,
  ): Promise<Admission> {
    const reply = await runKeyedScript(this.#redis, "push_host", pushHostKey(host), {
      verb,
      rate: limits.perSecond,
      burst: limits.burst,
      reserved,
      threshold: limits.failures,
      open: limits.openMs,
      openmax: limits.openMaxMs,
      probe: probeMs,
    });
    const [kind, number] = listOf(reply);
    if (String(kind) === "go") return { kind: "go", failures: Number(number) };
    return { kind: String(kind) === "open" ? "open" : "wait", waitMs: Number(number) };
  }
}

function listOf(reply: Reply): Reply[] {
  if (!Array.isArray(reply)) throw new Error("unexpected reply of a push script");
  return reply;
}

export function turnsOf(flat: readonly Reply[]): LaneTurn[] {
  const turns: LaneTurn[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) turns.push({ ref: String(flat[i]), gen: Number(flat[i + 1]) });
  return turns;
}

function stateOf(verdict: string, rest: readonly Reply[]): Exclude<LaneState, LaneHead> {
  switch (verdict) {
    case "busy":
      return { kind: "busy", waitMs: Number(rest[0]) };
    case "waiting":
      return { kind: "waiting", attempts: Number(rest[0]) };
    case "empty":
    case "gone":
    case "stale":
    case "fenced":
      return { kind: verdict };
    default:
      throw new Error(`unexpected verdict ${verdict} of a push script`);
  }
}

function headOf(rest: readonly Reply[], known: KnownConfig | undefined): [LaneHead, KnownConfig] {
  const [about, config, sealed, bytes] = rest;
  if (!Buffer.isBuffer(bytes) || !Buffer.isBuffer(config))
    throw new Error("unexpected push in the reply of a script");
  const [seq, committedAt, form = "", attempts, slot, first, ...taskId] = String(about).split(" ");
  const [version, ...trace] = form.split(";");
  const same = known?.text.equals(config) ? known : { text: config, record: JSON.parse(String(config)) };
  const head: LaneHead = {
    kind: "head",
    taskId: taskId.join(" "),
    config: same.record,
    sealed: String(sealed),
    seq: Number(seq),
    committedAt: Number(committedAt),
    version: version as PushVersion,
    bytes,
    attempts: Number(attempts),
    reserved: slot === "1",
    firstAttemptAt: first === "0" ? undefined : Number(first),
    trace: traceOf(trace),
  };
  return [head, same];
}

/** Reads what push_trace in task.lua wrote. */
function traceOf([traceparent, cause, ...state]: readonly string[]): PushTrace | undefined {
  const parent = traceContextOf(traceparent, state.join(";"));
  return parent && { parent, cause: traceContextOf(cause) };
}

function laneOf(ref: string, reply: Reply | undefined): LaneView {
  const fields = fieldsOf(reply);
  return {
    ref,
    taskId: fields.get("task") ?? "",
    configId: fields.get("config") ?? "",
    host: fields.get("host") ?? "",
    attempts: Number(fields.get("attempts") ?? 0),
    depth: Number(fields.get("depth") ?? 0),
    oldestAt: Number(fields.get("oldest") ?? 0),
    note: fields.get("note") ?? "",
  };
}

/** Reads flat pairs of names and texts. */
export function fieldsOf(reply: Reply | undefined): Map<string, string> {
  const flat = Array.isArray(reply) ? reply : [];
  const fields = new Map<string, string>();
  for (let i = 0; i + 1 < flat.length; i += 2) fields.set(String(flat[i]), String(flat[i + 1]));
  return fields;
}
