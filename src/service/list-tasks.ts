import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { listingScopes } from "../backends/viewer.ts";
import { type FieldViolation, invalidParams } from "../domain/errors.ts";
import { historyLengthViolations, historyLimit } from "../domain/message-rules.ts";
import { listingDigest, openPageToken, sealPageToken } from "../domain/page-token.ts";
import { LISTING_MS, type ListCursor, type TaskStore } from "../store/tasks.ts";
import type { AgentDirectory } from "./agents.ts";
import type { Call } from "./call.ts";

const PAGE_SIZE = { fallback: 50, min: 1, max: 100 } as const;

/** One page of the tasks that the caller may see, newest status first (A2A-58 to A2A-68). */
export async function listTasks(
  options: {
    readonly agents: AgentDirectory;
    readonly tasks: TaskStore;
    readonly pageTokenSecret: Buffer;
  },
  request: ListTasksRequest,
  call: Call,
): Promise<ListTasksResponse> {
  const { agents, tasks } = options;
  const pageSize = checkListing(request);
  const agent = agents.get(call.agent);
  const scopes = listingScopes(agent, call.caller);
  const after = request.statusTimestampAfter;
  const statusAfter = after === undefined ? undefined : Math.ceil(timestampMs(after));
  const digest = listingDigest([
    call.caller.id,
    agent.name,
    request.contextId,
    request.status,
    statusAfter ?? null,
  ]);
  const cursor =
    request.pageToken === ""
      ? undefined
      : (openPageToken(options.pageTokenSecret, digest, request.pageToken, Date.now()) as ListCursor);
  const page = await tasks.list(agent.name, {
    scopes,
    contextId: request.contextId,
    state: request.status === TaskState.UNSPECIFIED ? undefined : request.status,
    statusAfter,
    pageSize,
    shape: {
      historyLength: historyLimit(request.historyLength),
      includeArtifacts: request.includeArtifacts ?? false,
    },
    cursor,
  });
  const nextPageToken =
    page.next === undefined
      ? ""
      : sealPageToken(options.pageTokenSecret, digest, page.next, Date.now() + LISTING_MS);
  return create(ListTasksResponseSchema, {
    tasks: [...page.tasks],
    nextPageToken,
    pageSize,
    totalSize: page.total,
  });
}

function checkListing(request: ListTasksRequest): number {
  const violations: FieldViolation[] = historyLengthViolations(request.historyLength);
  const pageSize = request.pageSize ?? PAGE_SIZE.fallback;
  if (pageSize < PAGE_SIZE.min || pageSize > PAGE_SIZE.max) {
    violations.push({ field: "pageSize", description: `must be ${PAGE_SIZE.min} to ${PAGE_SIZE.max}` });
  }
  if (TaskState[request.status] === undefined) {
    violations.push({ field: "status", description: "must be one of the defined states" });
  }
  if (request.contextId !== "" && request.contextId.trim() === "") {
    violations.push({ field: "contextId", description: "must not be blank" });
  }
  if (violations.length > 0) throw invalidParams(...violations);
  return pageSize;
}
