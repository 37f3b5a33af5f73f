import type { TaskSummary } from "../../../gen/baton/admin/v1/task_pb.js";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { shortId } from "../parts/short.ts";
import { When } from "../parts/when.tsx";
import { address } from "../routing/place.ts";
import { StateBadge } from "./task-state.tsx";

export const taskAddress = (agent: string, id: string): string => address(["agents", agent, "tasks", id]);

const COLUMNS: readonly Column<TaskSummary>[] = [
  {
    head: "Task",
    cell: (task) => (
      <>
        <a class="row-link" data-row href={taskAddress(task.agent, task.id)}>
          {task.title || "Untitled"}
        </a>
        <p class="sub">
          <code>{shortId(task.id)}</code> {task.statusText}
        </p>
        <p class="narrow-only">
          <StateBadge state={task.state} /> <When at={task.statusAt} />
        </p>
      </>
    ),
  },
  { head: "State", wideOnly: true, cell: ({ state }) => <StateBadge state={state} /> },
  {
    head: "Where",
    wideOnly: true,
    cell: ({ agent, queue }) => (
      <span class="nowrap">
        {agent} <span class="faint">/ {queue || "–"}</span>
      </span>
    ),
  },
  {
    head: "With",
    wideOnly: true,
    cell: ({ holder }) =>
      holder === undefined ? <span class="faint">nobody</span> : holder.worker || shortId(holder.endpointId),
  },
  {
    head: "Attempt",
    wideOnly: true,
    align: "end",
    cell: ({ attempt, maxAttempts }) =>
      maxAttempts === 0 ? <span class="faint">run</span> : `${attempt} of ${maxAttempts}`,
  },
  { head: "Since", wideOnly: true, align: "end", cell: ({ statusAt }) => <When at={statusAt} /> },
];

export function TaskTable({
  caption,
  tasks,
}: {
  readonly caption: string;
  readonly tasks: readonly TaskSummary[];
}) {
  return (
    <DataTable caption={caption} columns={COLUMNS} rows={tasks} keyOf={({ agent, id }) => `${agent}/${id}`} />
  );
}
