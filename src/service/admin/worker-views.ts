import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HeldTodoSchema } from "../../../gen/baton/admin/v1/queue_pb.js";
import type { HeldTodo, SeenWorker } from "../../store/workers.ts";
import { timeField } from "./task-views.ts";

/** A worker and what it holds. */
export interface WorkerView {
  readonly agent: string;
  readonly endpointId: string;
  readonly name: string;
  readonly queues: readonly string[];
  /** Milliseconds since the epoch; undefined: not lately. */
  readonly seenAt: number | undefined;
  readonly todos: readonly MessageInitShape<typeof HeldTodoSchema>[];
  readonly held: number;
}

const MAX_TODOS = 100;

/** Puts together what is known of each worker of an agent, the latest seen first. */
export function gatherWorkers(
  agent: string,
  found: { readonly seen: readonly SeenWorker[]; readonly held: readonly HeldTodo[] },
): WorkerView[] {
  const workers = new Map<
    string,
    { endpointId: string; name: string; seen: SeenWorker[]; held: HeldTodo[] }
  >();
  const of = ({ endpointId, name }: SeenWorker | HeldTodo) => {
    const key = `${endpointId} ${name}`;
    const worker = workers.get(key) ?? { endpointId, name, seen: [], held: [] };
    workers.set(key, worker);
    return worker;
  };
  for (const each of found.seen) of(each).seen.push(each);
  for (const each of found.held) of(each).held.push(each);
  return [...workers.values()]
    .map(({ endpointId, name, seen, held }) => {
      held.sort((a, b) => a.lease - b.lease);
      return {
        agent,
        endpointId,
        name,
        queues: [...new Set([...seen, ...held].map(({ queue }) => queue))].sort(),
        seenAt: seen.length === 0 ? undefined : Math.max(...seen.map(({ at }) => at)),
        todos: held.slice(0, MAX_TODOS).map(heldView),
        held: held.length,
      };
    })
    .sort((a, b) => (b.seenAt ?? 0) - (a.seenAt ?? 0));
}

function heldView(todo: HeldTodo): MessageInitShape<typeof HeldTodoSchema> {
  const { id, queue, title, state, attempt } = todo;
  return { id, queue, title, state, attempt, ...timeField("leaseExpiresAt", todo.lease) };
}
