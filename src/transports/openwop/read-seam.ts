import { taskNotFound } from "../../domain/errors.ts";
import type { Dispatcher } from "../../service/dispatcher.ts";
import type { TaskRecordReader } from "../../service/openwop-records.ts";
import type { HttpHandler } from "../http-handler.ts";
import { requestMeta } from "../request-meta.ts";
import { respond } from "../respond.ts";
import { parseTarget } from "../target.ts";
import { respondError, respondJson } from "./rest-error.ts";

export interface ReadSeamOptions {
  readonly dispatcher: Dispatcher;
  readonly readRecord: TaskRecordReader;
}

/** Where the REST catalogue of major 1 has the card; ours stands at the well-known path. */
const OLD_CARD_PATH = "/v1/a2a/agent.json";
const PATH = /^\/v1\/a2a\/tasks\/([^/]+)$/;

/** `GET /v1/a2a/tasks/{taskId}`: the record of a run-backed task and nothing else (OW-13). */
export function createReadSeamHandler(options: ReadSeamOptions): HttpHandler {
  return async (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    if (path === OLD_CARD_PATH) {
      respond(request, response, { status: 308, headers: [["location", "/.well-known/agent-card.json"]] });
      return true;
    }
    const match = PATH.exec(path);
    if (match === null || request.method !== "GET") return false;
    const meta = requestMeta(request, response, {
      transport: "rest",
      form: "1.0",
      target: parseTarget(request.url ?? "/"),
    });
    try {
      const caller = await options.dispatcher.authenticate(meta);
      const taskId = decodeId(match[1] ?? "");
      const record = taskId === "" ? undefined : await options.readRecord(caller, taskId);
      if (record === undefined) throw taskNotFound(taskId);
      respondJson(request, response, 200, { ...record }, [["cache-control", "no-store"]]);
    } catch (error) {
      respondError(request, response, error, meta.requestId);
    }
    return true;
  };
}

/** Decoded once, after the path was split: a v2 id holds a slash. */
export function decodeId(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}
