import { randomUUID } from "node:crypto";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { A2AService, PartSchema, Role, SendMessageRequestSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Caller } from "../../domain/caller.ts";
import { BatonError, taskNotFound } from "../../domain/errors.ts";
import type { Dispatcher } from "../../service/dispatcher.ts";
import type { TaskRecordReader } from "../../service/openwop-records.ts";
import { readBody } from "../body.ts";
import type { HttpHandler } from "../http-handler.ts";
import { type HttpMeta, requestMeta } from "../request-meta.ts";
import { parseTarget } from "../target.ts";
import { decodeId } from "./read-seam.ts";
import { respondError, respondJson } from "./rest-error.ts";

export interface SampleSeamsOptions {
  readonly dispatcher: Dispatcher;
  readonly readRecord: TaskRecordReader;
  /** The whole egress guard on a push URL, as at registration; rejects where it refuses. */
  checkPushUrl(caller: Caller, url: string, signal: AbortSignal): Promise<void>;
}

const PATH = /^\/(?:v1\/host\/sample|conformance\/seams\/sample)\/a2a\/tasks\/([^/]+)$/;
const MAX_BODY = 64 * 1024;

/**
 * The sample seams of the conformance suite, under the paths of both majors: `start`, `push-config` and the record. For
 * test configurations only: a production gateway does not serve them.
 */
export function createSampleSeamsHandler(options: SampleSeamsOptions): HttpHandler {
  return async (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const match = PATH.exec(path);
    if (match === null) return false;
    const target = parseTarget(request.url ?? "/");
    const meta = requestMeta(request, response, { transport: "rest", form: "1.0", target });
    try {
      const caller = await options.dispatcher.authenticate(meta);
      const name = match[1] ?? "";
      if (request.method === "GET") {
        const id = decodeId(name);
        const record = await options.readRecord(caller, id);
        if (record === undefined) throw taskNotFound(id);
        respondJson(request, response, 200, { ...record });
      } else if (request.method === "POST" && name === "start") {
        const body = parseObject(await readBody(request, MAX_BODY));
        if (body.scenario !== "paused-at-approval") {
          throw new BatonError("InvalidParams", "the only scenario is paused-at-approval");
        }
        respondJson(request, response, 201, { taskId: await startTask(options.dispatcher, meta, caller) });
      } else if (request.method === "POST" && name === "push-config") {
        const body = parseObject(await readBody(request, MAX_BODY));
        const { url, taskId } = body;
        const refused = await options
          .checkPushUrl(caller, typeof url === "string" ? url : "", meta.signal)
          .then(() => false)
          .catch(() => true);
        if (refused) respondJson(request, response, 400, refusal());
        else {
          const id = typeof taskId === "string" ? taskId : "";
          if ((await options.readRecord(caller, id)) === undefined) throw taskNotFound(id);
          respondJson(request, response, 200, { accepted: true });
        }
      } else throw new BatonError("RouteNotFound", "no such seam");
    } catch (error) {
      respondError(request, response, error, meta.requestId);
    }
    return true;
  };
}

function refusal(): JsonObject {
  return { error: "a2a_push_egress_denied", message: "the address is not allowed", details: {} };
}

async function startTask(dispatcher: Dispatcher, meta: HttpMeta, caller: Caller): Promise<string> {
  const message = {
    messageId: randomUUID(),
    role: Role.USER,
    parts: [create(PartSchema, { content: { case: "text", value: "conformance" } })],
  };
  const request = create(SendMessageRequestSchema, { message });
  const { message: answer } = await dispatcher.unary(A2AService.method.sendMessage, request, meta, caller);
  if (answer.payload.case !== "task") throw new BatonError("Internal", "internal error");
  return answer.payload.value.id;
}

function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch {
    // Refused below, like a body of another shape.
  }
  throw new BatonError("InvalidParams", "the body must be a JSON object");
}
