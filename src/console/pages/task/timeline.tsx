import { useEffect } from "preact/hooks";
import { type TimelineEntry, TimelineKind } from "../../../../gen/baton/admin/v1/task_pb.js";
import { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { tasks } from "../../api/clients.ts";
import { useLive } from "../../api/live.ts";
import { Empty, Loading } from "../../parts/empty.tsx";
import { LiveFault } from "../../parts/failure-note.tsx";
import { Clock, durationText } from "../../parts/when.tsx";
import { StateBadge } from "../task-state.tsx";
import { Parts } from "./content.tsx";
import type { TaskViewProps } from "./view.ts";

const LIMIT = 500;
/** Its entries may be large, and a change of the task is no reason to wait; this is for pushes. */
const EVERY_MS = 10_000;

const MARKS: Readonly<Record<TimelineKind, string>> = {
  [TimelineKind.UNSPECIFIED]: "other",
  [TimelineKind.STATUS]: "status",
  [TimelineKind.ARTIFACT]: "artifact",
  [TimelineKind.MESSAGE]: "message",
  [TimelineKind.ACTION]: "action",
  [TimelineKind.PUSH_ATTEMPT]: "push",
  [TimelineKind.PUSH_DEAD]: "dead",
};

/** What happened to the task, oldest first. */
export function Timeline({ agent, id, version }: TaskViewProps) {
  const live = useLive(
    `timeline ${agent} ${id}`,
    (signal) => tasks.getTaskTimeline({ agent, id, limit: LIMIT }, { signal }),
    EVERY_MS,
  );
  useEffect(live.refresh, [version]);
  const { data } = live;
  if (data === undefined) return live.failure === undefined ? <Loading /> : <LiveFault live={live} />;
  if (data.entries.length === 0) return <Empty title="Nothing is recorded of this task." />;
  return (
    <>
      <LiveFault live={live} />
      {data.truncated && (
        <p class="hint">Earlier entries are left out: the gateway keeps or shows the latest only.</p>
      )}
      <ol class="timeline" aria-label="Timeline">
        {data.entries.map((entry, index) => (
          <Entry key={`${index} ${entry.event} ${entry.sequence}`} entry={entry} />
        ))}
      </ol>
    </>
  );
}

function Entry({ entry }: { readonly entry: TimelineEntry }) {
  const mark = MARKS[entry.kind];
  const moved = entry.toState !== "" && entry.fromState !== entry.toState;
  return (
    <li class={`event event-${mark}`}>
      <span class="event-time">
        <Clock at={entry.time} />
        {entry.sincePrevious !== undefined && <span class="faint">+{durationText(entry.sincePrevious)}</span>}
      </span>
      <div class="event-body">
        <p class="event-head">
          <span class="event-summary">{entry.summary}</span>
          {entry.state !== TaskState.UNSPECIFIED && <StateBadge state={entry.state} />}
        </p>
        <p class="sub">
          {[
            entry.actor === "" || entry.summary.includes(entry.actor) ? "" : `by ${entry.actor}`,
            entry.event,
            moved ? `${entry.fromState || "new"} → ${entry.toState}` : "",
            entry.sequence === 0n ? "" : `log ${entry.sequence}`,
          ]
            .filter(Boolean)
            .join(" · ")}
        </p>
        {entry.message !== undefined && !isWhole(entry) && <Parts parts={entry.message.parts} />}
      </div>
    </li>
  );
}

/** Whether the summary says all that the message says. */
function isWhole({ summary, message }: TimelineEntry): boolean {
  return (message?.parts ?? []).every(
    ({ content }) => content.case === "text" && summary.endsWith(content.value),
  );
}
