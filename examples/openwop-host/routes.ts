import type { IncomingMessage, ServerResponse } from "node:http";
import { Engine, HostError } from "./engine.ts";
import type { FaultPlan } from "./faults.ts";
import { IdempotencyCache, type StoredAnswer } from "./idempotency.ts";
import { type HostRequest, readJson } from "./requests.ts";
import type { Principal, Run } from "./run.ts";
import { pollEvents, streamEvents } from "./stream.ts";
import { WORKFLOWS } from "./workflows.ts";

const CREATE_KEYS = new Set([
  "workflowId",
  "inputs",
  "tenantId",
  "scopeId",
  "callbackUrl",
  "configurable",
  "tags",
  "metadata",
]);

/** What the routes of the host work on. It outlives a restart of the listener. */
export class HostState {
  readonly engine = new Engine();
  readonly idempotency = new IdempotencyCache();
  readonly workflows = Object.keys(WORKFLOWS);
}

/** The run of an id that the caller may know; others are told as the major prescribes. */
export function findRun(state: HostState, major: 1 | 2, id: string, by: Principal): Run {
  const run = state.engine.runs.get(id);
  const segment = id.split("/")[0] ?? "";
  if (major === 2 && id.includes("/") && segment !== by.tenant) {
    throw new HostError(403, "id_tenant_mismatch", "the id belongs to another tenant");
  }
  if (run === undefined || run.made.owner.tenant !== by.tenant) {
    throw new HostError(404, "not_found", "no such run");
  }
  return run;
}

export async function serve(
  state: HostState,
  faults: FaultPlan,
  call: HostRequest,
  by: Principal,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<StoredAnswer | undefined> {
  const { engine } = state;
  const id = call.ids[0] ?? "";
  const key = request.headers["idempotency-key"];
  const idempotencyKey = typeof key === "string" ? key : undefined;
  const run = () => findRun(state, call.major, id, by);
  switch (call.route) {
    case "create": {
      const body = await readJson(request);
      return replayable(state, response, `${by.tenant} create`, idempotencyKey, body, () =>
        create(engine, call, body, by),
      );
    }
    case "read":
      return { status: 200, body: run().snapshot() };
    case "list":
      return { status: 200, body: list(engine, call, by) };
    case "events": {
      const mode = call.query.get("streamMode") ?? "updates";
      if (mode !== "updates") {
        throw new HostError(400, "unsupported_stream_mode", "unknown mode", { supported: ["updates"] });
      }
      const last = request.headers["last-event-id"];
      const after = typeof last === "string" && last !== "" ? Number(last) : -1;
      streamEvents(run(), after, response, {
        cut: faults.take("events", ["cut"]),
        twice: faults.take("events", ["twice"]),
      });
      return undefined;
    }
    case "poll": {
      const name = call.major === 2 ? "afterSequence" : "lastSequence";
      const after = call.query.get(name);
      const seconds = Math.min(60, Math.max(1, Number(call.query.get("timeout") ?? 30)));
      return { status: 200, body: await pollEvents(run(), after === null ? -1 : Number(after), seconds) };
    }
    case "cancel": {
      const body = await readJson(request);
      const target = run();
      engine.cancel(target, typeof body.reason === "string" ? body.reason : "");
      return { status: 200, body: { runId: target.id, status: target.status } };
    }
    case "resolve": {
      const body = await readJson(request);
      const target = run();
      return replayable(state, response, `${by.tenant} resolve ${target.id}`, idempotencyKey, body, () => {
        if (!("resumeValue" in body) || Object.keys(body).length !== 1) {
          throw new HostError(400, "validation_error", "the body is exactly { resumeValue }");
        }
        engine.resolve(target, call.ids[1] ?? "", body.resumeValue, by);
        return { status: 200, body: { runId: target.id, status: target.status } };
      });
    }
    case "fork":
      return fork(engine, run(), await readJson(request), call.major);
    case "artifact":
      return artifact(run(), call.ids[1] ?? "", request, call.major);
    case "workflow":
      if (WORKFLOWS[id] === undefined) throw new HostError(404, "not_found", "no such workflow");
      return { status: 200, body: { workflowId: id, name: id, version: "1" } };
    case "discovery":
      throw new HostError(404, "not_found", "answered elsewhere");
  }
}

async function replayable(
  state: HostState,
  response: ServerResponse,
  scope: string,
  key: string | undefined,
  body: unknown,
  work: () => StoredAnswer,
): Promise<StoredAnswer> {
  const answer = await state.idempotency.once(scope, key, body, work);
  if (answer.replayed) response.setHeader("OpenWOP-Idempotent-Replay", "true");
  return answer;
}

function create(
  engine: Engine,
  call: HostRequest,
  body: Record<string, unknown>,
  by: Principal,
): StoredAnswer {
  const { workflowId, inputs, tags, metadata, tenantId } = body;
  const unknown = Object.keys(body).filter((name) => !CREATE_KEYS.has(name));
  if (call.major === 2 && unknown.length > 0) throw new HostError(400, "validation_error", "unknown key");
  if (typeof workflowId !== "string") throw new HostError(400, "validation_error", "workflowId is required");
  if (tenantId !== undefined && tenantId !== by.tenant)
    throw new HostError(403, "forbidden", "foreign tenant");
  const tagList = Array.isArray(tags) ? tags.map(String) : [];
  if (tagList.length > 100 || tagList.some((tag) => tag.length > 256)) {
    throw new HostError(400, "validation_error", "tags out of bounds");
  }
  const run = engine.create({
    major: call.major,
    owner: by,
    workflowId,
    inputs: (inputs ?? {}) as Record<string, unknown>,
    tags: tagList,
    metadata: (metadata ?? {}) as Record<string, unknown>,
  });
  return {
    status: 201,
    body: { runId: run.id, status: run.status, eventsUrl: eventsUrl(run.id, call.major) },
  };
}

function eventsUrl(id: string, major: 1 | 2): string {
  if (major === 1) return `/v1/runs/${encodeURIComponent(id)}/events`;
  const projected = id.replace(
    /[^A-Za-z0-9._-]/g,
    (char) => `~${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
  return `/runs/${projected}/events`;
}

function list(engine: Engine, call: HostRequest, by: Principal): unknown {
  const own = [...engine.runs.values()].filter((run) => run.made.owner.tenant === by.tenant).reverse();
  const from = Number(call.query.get("cursor") ?? 0);
  const page = own.slice(from, from + 50);
  return {
    runs: page.map((run) => run.snapshot()),
    ...(own.length > from + 50 ? { nextCursor: String(from + 50) } : {}),
  };
}

function fork(engine: Engine, source: Run, body: Record<string, unknown>, major: 1 | 2): StoredAnswer {
  const { mode, fromSeq } = body;
  if (mode !== "replay" && mode !== "branch") throw new HostError(400, "validation_error", "unknown mode");
  if (mode === "branch" && typeof fromSeq !== "number") {
    throw new HostError(422, "fork_point_invalid", "fromSeq is required for a branch");
  }
  const run = engine.fork(source, mode, typeof fromSeq === "number" ? fromSeq : 0);
  return {
    status: 201,
    body: {
      runId: run.id,
      sourceRunId: source.id,
      mode,
      status: run.status,
      eventsUrl: eventsUrl(run.id, major),
    },
  };
}

function artifact(run: Run, artifactId: string, request: IncomingMessage, major: 1 | 2): StoredAnswer {
  const body = run.artifacts.get(artifactId);
  if (body === undefined) throw new HostError(404, "not_found", "no such artifact");
  const asA2A = major === 2 && (request.headers.accept ?? "").includes("application/a2a+json");
  if (!asA2A) return { status: 200, body };
  return { status: 200, body: { artifactId, name: artifactId, parts: [{ data: body }] } };
}
