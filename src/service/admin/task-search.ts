import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type SearchTasksRequest,
  type SearchTasksResponse,
  SearchTasksResponseSchema,
} from "../../../gen/baton/admin/v1/task_pb.js";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type FieldViolation, invalidParams } from "../../domain/errors.ts";
import { listingDigest, openPageToken, sealPageToken } from "../../domain/page-token.ts";
import type { OperatorTaskStore, TaskFields, TaskFilter, TaskPlace } from "../../store/operator-tasks.ts";
import { LISTING_MS } from "../../store/tasks.ts";
import type { AgentDirectory } from "../agents.ts";
import { bounded } from "./bounded.ts";
import { namedAgents } from "./named-agent.ts";
import { summaryView } from "./task-views.ts";

export interface TaskSearchOptions {
  readonly agents: AgentDirectory;
  readonly tasks: Pick<OperatorTaskStore, "search">;
  readonly pageTokenSecret: Buffer;
}

const PAGE_SIZE = { fallback: 50, max: 200 } as const;
const MAX_TEXT = 512;
/** Tasks that one call looks at, where a filter has no index. */
const EXAMINED = 5000;
const SCAN = { min: 50, max: 500 } as const;

/** A place among the tasks of all agents: the latest status first, then agents by name, then ids falling. */
interface Place extends TaskPlace {
  readonly agent: string;
}

interface Found extends Place {
  readonly fields: TaskFields;
}

/** One page of the tasks of all clients; see SearchTasks. The work of a call is bounded, however many tasks there are. */
export async function searchTasks(
  options: TaskSearchOptions,
  request: SearchTasksRequest,
): Promise<SearchTasksResponse> {
  const size = bounded("pageSize", request.pageSize, PAGE_SIZE);
  const agents = namedAgents(options.agents, request.agent).map(({ name }) => name);
  const filter = filterOf(request);
  // Ids of endpoints hold no colon; with one, a text would name another index than that of a sender.
  if (filter.owner.includes(":")) return create(SearchTasksResponseSchema, {});
  const digest = listingDigest(["SearchTasks", request.agent, filter]);
  let cursor: Place | undefined;
  if (request.pageToken !== "") {
    cursor = openPageToken(options.pageTokenSecret, digest, request.pageToken, Date.now()) as Place;
  }
  const indexed =
    filter.queue === "" && filter.idPrefix === "" && (filter.contextId === "" || filter.owner !== "");
  const scan = indexed ? size : Math.min(SCAN.max, Math.max(SCAN.min, Math.floor(EXAMINED / agents.length)));
  const rounds = indexed ? 1 : Math.max(1, Math.floor(EXAMINED / (scan * agents.length)));
  const page: Found[] = [];
  for (let round = 0; round < rounds; round++) {
    const next = await nextTasks(options.tasks, agents, filter, {
      behind: cursor,
      size: size - page.length,
      scan,
    });
    page.push(...next.found);
    cursor = next.reached;
    if (cursor === undefined || page.length === size) break;
  }
  return create(SearchTasksResponseSchema, {
    tasks: page.map(({ agent, fields }) => summaryView(agent, fields)),
    nextPageToken:
      cursor === undefined
        ? ""
        : sealPageToken(options.pageTokenSecret, digest, cursor, Date.now() + LISTING_MS),
  });
}

/**
 * Asks each agent and merges. Where an agent looked only so far, nothing behind that is taken from the others: something
 * of its own may come first.
 */
async function nextTasks(
  tasks: TaskSearchOptions["tasks"],
  agents: readonly string[],
  filter: TaskFilter,
  { behind, size, scan }: { behind: Place | undefined; size: number; scan: number },
): Promise<{ readonly found: readonly Found[]; readonly reached: Place | undefined }> {
  const answers = await Promise.all(
    agents.map(async (agent) => {
      const answer = await tasks.search(agent, filter, { behind: placeIn(agent, behind), size, scan });
      return { agent, ...answer };
    }),
  );
  const reached = answers.flatMap(({ agent, reached: place }) =>
    place === undefined ? [] : [{ ...place, agent }],
  );
  const nearest = reached.sort(inOrder)[0];
  const found = answers
    .flatMap(({ agent, tasks: all }) =>
      all.map((fields) => ({ agent, fields, at: fields.number("at"), id: fields.text("id") })),
    )
    .filter((place) => nearest === undefined || inOrder(place, nearest) <= 0)
    .sort(inOrder);
  const taken = found.slice(0, size);
  const last = taken.at(-1);
  if (found.length > size && last !== undefined) return { found: taken, reached: placeOf(last) };
  return { found: taken, reached: nearest };
}

function placeOf({ at, agent, id }: Place): Place {
  return { at, agent, id };
}

function inOrder(a: Place, b: Place): number {
  if (a.at !== b.at) return b.at - a.at;
  if (a.agent !== b.agent) return a.agent < b.agent ? -1 : 1;
  if (a.id === b.id) return 0;
  return a.id > b.id ? -1 : 1;
}

/** Where an agent's tasks go on behind a place among all. Times are whole milliseconds. */
function placeIn(agent: string, place: Place | undefined): TaskPlace | undefined {
  if (place === undefined) return undefined;
  if (agent === place.agent) return { at: place.at, id: place.id };
  return { at: agent < place.agent ? place.at - 1 : place.at, id: "" };
}

function filterOf(request: SearchTasksRequest): TaskFilter {
  const violations: FieldViolation[] = [];
  const states = [...new Set(request.states)].sort((a, b) => a - b);
  if (states.some((state) => state === TaskState.UNSPECIFIED || TaskState[state] === undefined)) {
    violations.push({ field: "states", description: "must be defined states" });
  }
  for (const field of ["endpointId", "queue", "contextId", "idPrefix"] as const) {
    if (request[field].length > MAX_TEXT) {
      violations.push({ field, description: `must have at most ${MAX_TEXT} characters` });
    }
  }
  if (violations.length > 0) throw invalidParams(...violations);
  const { statusAfter: after, statusBefore: before } = request;
  return {
    owner: request.endpointId,
    states,
    queue: request.queue,
    contextId: request.contextId,
    idPrefix: request.idPrefix,
    statusAfter: after === undefined ? undefined : Math.ceil(timestampMs(after)),
    statusBefore: before === undefined ? undefined : Math.ceil(timestampMs(before)),
  };
}
