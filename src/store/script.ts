import { activeSpan, inChildSpan } from "../telemetry/tracing/active.ts";
import type { SpanOptions } from "../telemetry/tracing/span.ts";
import type { RedisConnection, Reply, RunOptions } from "./connection.ts";
import { agentPrefix } from "./keys.ts";
import { loadScripts, type Script } from "./load-scripts.ts";

export type ScriptName =
  | "create"
  | "message"
  | "cancel"
  | "claim"
  | "heartbeat"
  | "finish"
  | "interrupt"
  | "progress"
  | "read"
  | "check"
  | "list"
  | "sweep"
  | "revoke"
  | "todo_read"
  | "todo_list"
  | "todo_retry"
  | "todo_dead"
  | "task_search"
  | "task_facts"
  | "task_trail"
  | "workers"
  | "messages"
  | "push_set"
  | "push_read"
  | "push_delete"
  | "push_revoke"
  | "push_relay"
  | "push_due"
  | "push_step"
  | "push_dead"
  | "push_replay"
  | "push_purge"
  | "push_lanes"
  | "run_intent"
  | "run_created"
  | "run_fork"
  | "run_drop"
  | "run_read"
  | "run_message"
  | "run_apply"
  | "run_take"
  | "run_lease"
  | "run_ended"
  | "run_purge";

/**
 * What a caller has been told must outlive the server that told it, so these wait for replicas where that is configured.
 * The others change nothing that was promised: reads, sweeps, leases, deliveries that would be tried again.
 */
const DURABLE: ReadonlySet<string> = new Set([
  "create",
  "message",
  "cancel",
  "claim",
  "finish",
  "interrupt",
  "progress",
  "revoke",
  "todo_retry",
  "push_set",
  "push_delete",
  "push_revoke",
  "run_intent",
  "run_created",
  "run_message",
  "run_apply",
  "grant_request",
  "grant_decide",
  "grant_revoke",
  "grant_pickup",
  "grant_reissue",
  "admin_audit",
]);

interface Runnable extends Script {
  readonly span: SpanOptions;
  readonly options: RunOptions;
}

const scripts: ReadonlyMap<string, Runnable> = new Map(
  loadScripts().map((script) => {
    const attributes = {
      "db.system.name": "redis",
      "db.operation.name": "EVALSHA",
      "db.stored_procedure.name": script.name,
    };
    const options = { durable: DURABLE.has(script.name) };
    return [script.name, { ...script, span: { kind: "client", attributes }, options }];
  }),
);

/** Scripts on keys that belong to no agent. */
export type KeyedScriptName =
  | "bucket"
  | "slot"
  | "slot_renew"
  | "push_host"
  | "grant_request"
  | "grant_decide"
  | "grant_revoke"
  | "grant_pickup"
  | "grant_reissue"
  | "grant_delete"
  | "admin_audit"
  | "replica";

export type ScriptArgs = Readonly<Record<string, string | number | boolean | Uint8Array>>;

/**
 * Runs one of the commit scripts for an agent. `args` must hold exactly the arguments that the script declares;
 * `rest` follows them. One round trip, once the server knows the script.
 */
export function runScript(
  redis: RedisConnection,
  name: ScriptName,
  agent: string,
  args: ScriptArgs,
  rest: readonly (string | Buffer)[] = [],
): Promise<Reply> {
  return runOnKey(redis, name, agentPrefix(agent), args, rest);
}

/** Runs a script on one key; otherwise as {@link runScript}. */
export function runKeyedScript(
  redis: RedisConnection,
  name: KeyedScriptName,
  key: string,
  args: ScriptArgs,
): Promise<Reply> {
  return runOnKey(redis, name, key, args, []);
}

function runOnKey(
  redis: RedisConnection,
  name: string,
  key: string,
  args: ScriptArgs,
  rest: readonly (string | Buffer)[],
): Promise<Reply> {
  const script = scripts.get(name);
  if (script === undefined) throw new Error(`unknown script ${name}`);
  if (activeSpan() === undefined) return evaluate(redis, script, key, commandOf(script, key, "", args, rest));
  return inChildSpan(`EVALSHA ${name}`, script.span, (span) =>
    evaluate(redis, script, key, commandOf(script, key, span?.context.traceparent ?? "", args, rest)),
  );
}

async function evaluate(
  redis: RedisConnection,
  script: Runnable,
  key: string,
  command: readonly (string | Buffer)[],
): Promise<Reply> {
  try {
    return await redis.run(key, command, script.options);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
    return redis.run(key, ["EVAL", script.text, ...command.slice(2)], script.options);
  }
}

function commandOf(
  script: Script,
  key: string,
  traceparent: string,
  args: ScriptArgs,
  rest: readonly (string | Buffer)[],
): (string | Buffer)[] {
  const command: (string | Buffer)[] = ["EVALSHA", script.sha, "1", key, traceparent];
  for (const name of script.args) command.push(argument(script.name, name, args[name]));
  if (Object.keys(args).length !== script.args.length)
    throw new Error(`script ${script.name}: arguments differ`);
  for (const value of rest) command.push(value);
  return command;
}

function argument(script: string, name: string, value: ScriptArgs[string] | undefined): string | Buffer {
  if (value === undefined) throw new Error(`script ${script}: ${name} is missing`);
  if (typeof value === "boolean") return value ? "1" : "";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return value;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
