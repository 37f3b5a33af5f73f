import type { TaskSummary } from "../../../gen/baton/admin/v1/task_pb.js";
import { type Column, DataTable } from "../parts/data-table.tsx";
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
          <code>{task.id.slice(0, 8)}</code> {task.statusText}
        </p>
      </>
    ),
  },
  { head: "State", cell: ({ state }) => <StateBadge state={state} /> },
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
      holder === undefined ? (
        <span class="faint">nobody</span>
      ) : (
        holder.worker || holder.endpointId.slice(0, 8)
      ),
  },
  {
    head: "Attempt",
    wideOnly: true,
    align: "end",
    cell: ({ attempt, maxAttempts }) =>
      maxAttempts === 0 ? <span class="faint">run</span> : `${attempt} of ${maxAttempts}`,
  },
  { head: "Since", align: "end", cell: ({ statusAt }) => <When at={statusAt} /> },
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
