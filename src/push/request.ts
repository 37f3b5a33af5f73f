import { randomFillSync } from "node:crypto";
import { fromBinary, type JsonObject } from "@bufbuild/protobuf";
import {
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type TraceContext, traceContextOf, traceHeadersOf, traceIdOf } from "../domain/trace-context.ts";
import type { PushVersion } from "../store/push-configs.ts";
import type { LaneHead } from "../store/push-lanes.ts";
import { type PushContent, referencesOf, taskReferencesOf } from "./content.ts";
import { PUSH_DELIVERY_URI, PUSH_HEADER } from "./extension.ts";
import type { PushSecret } from "./secret-box.ts";

/** Prints bodies as the version's HTTP+JSON binding does; given by the layer that knows the bindings. */
export interface BodyPrinters {
  /** One StreamResponse, as a stream sends it (A2A-191). */
  event(event: StreamResponse): string;
  /** A 0.3 Task with `kind` (a2a.md section 6); absent where 0.3 is not served. */
  task03?(task: Task): string;
}

export interface PushRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const CONTENT_TYPE: Readonly<Record<PushVersion, string>> = {
  "1.0": "application/a2a+json",
  "0.3": "application/json",
};

/**
 * The request of one attempt. Headers follow design.md section 7 (token and authentication) and the extension
 * push-delivery; there is no signature, whatever else Baton speaks to (OW-51).
 */
export function pushRequest(
  head: LaneHead,
  secret: PushSecret,
  printers: BodyPrinters,
  content: PushContent,
): PushRequest {
  const headers = {
    "content-type": CONTENT_TYPE[head.version],
    "user-agent": "baton-push",
    [PUSH_HEADER.version]: head.version,
    [PUSH_HEADER.sequence]: String(head.seq),
    [PUSH_HEADER.id]: notificationId(head.taskId, head.seq),
    [PUSH_HEADER.attempt]: String(head.attempts + 1),
    ...traceHeadersOf(ownPlace(head)),
    ...credentialHeaders(head, secret),
  };
  const body =
    head.version === "1.0" ? eventBody(head, printers, content) : taskBody(head, printers, content);
  return { headers, body };
}

export function notificationId(taskId: string, seq: number): string {
  return `${taskId}/${seq}`;
}

/** `authentication` before token (OW-43, OW-44); 0.3 receivers look for the token header in any case. */
function credentialHeaders(head: LaneHead, secret: PushSecret): Record<string, string> {
  const headers: Record<string, string> = {};
  const { scheme } = head.config;
  const { token, credentials } = secret;
  if (scheme !== undefined) {
    headers.authorization = credentials === undefined ? scheme : `${scheme} ${credentials}`;
  }
  if (token === undefined) return headers;
  if (head.version === "0.3") headers[PUSH_HEADER.token] = token;
  else if (scheme === undefined) {
    headers.authorization = `Bearer ${token}`;
    headers[PUSH_HEADER.token] = token;
  }
  return headers;
}

function eventBody(head: LaneHead, printers: BodyPrinters, content: PushContent): string {
  const whole = fromBinary(StreamResponseSchema, head.bytes);
  const event = content === "full" ? whole : referencesOf(whole);
  const { payload } = event;
  if (payload.case === "statusUpdate" || payload.case === "artifactUpdate") {
    const note: JsonObject = { sequence: head.seq, notificationId: notificationId(head.taskId, head.seq) };
    payload.value.metadata = { ...payload.value.metadata, [PUSH_DELIVERY_URI]: note };
  }
  return printers.event(event);
}

function taskBody(head: LaneHead, printers: BodyPrinters, content: PushContent): string {
  if (printers.task03 === undefined) throw new Error("A2A 0.3 is not served");
  const task = fromBinary(TaskSchema, head.bytes);
  return printers.task03(content === "full" ? task : taskReferencesOf(task));
}

/**
 * A span of our own, in the trace that the push belongs to: that of its task, else that of the call that registered the
 * config, else a new one. Where spans are recorded, that of the attempt takes its place.
 */
function ownPlace(head: LaneHead): TraceContext {
  const known = pushParent(head);
  const span = randomHex(8);
  if (known === undefined) return { traceparent: `00-${randomHex(16)}-${span}-00` };
  return { ...known, traceparent: `00-${traceIdOf(known)}-${span}${known.traceparent.slice(52)}` };
}

/** What the attempts of a push are below; undefined: nothing. */
export function pushParent({ trace, config }: LaneHead): TraceContext | undefined {
  return trace?.parent ?? traceContextOf(config.trace);
}

const POOL_BYTES = 4096;
const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/** Random hexadecimal digits. One call of the operating system brings those of many requests. */
function randomHex(bytes: number): string {
  if (used + bytes > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString("hex", used - bytes, used);
}
