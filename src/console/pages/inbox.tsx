import { useState } from "preact/hooks";
import { GrantState } from "../../../gen/baton/admin/v1/grant_pb.js";
import type { TaskSummary } from "../../../gen/baton/admin/v1/task_pb.js";
import { grants, tasks } from "../api/clients.ts";
import { useLive } from "../api/live.ts";
import { Empty, Loading } from "../parts/empty.tsx";
import { LiveFault } from "../parts/failure-note.tsx";
import { Page } from "../parts/page.tsx";
import { Select } from "../parts/select.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { When } from "../parts/when.tsx";
import { setQuery, usePlace } from "../routing/place.ts";
import { countTasks, useAttention, WAITING } from "../shell/attention.tsx";
import { GRANT_STATES, GrantCard } from "./inbox/grant-card.tsx";
import { ReplyDialog } from "./task/reply.tsx";
import { StateBadge } from "./task-state.tsx";
import { taskAddress } from "./task-table.tsx";

/** What waits for a person's decision. */
export function InboxPage() {
  const kind = usePlace().query.get("kind") === "tasks" ? "tasks" : "requests";
  const { data } = useAttention();
  return (
    <Page title="Inbox">
      <Tabs
        label="Kinds of decisions"
        parameter="kind"
        current={kind}
        tabs={[
          { value: "requests", text: "Friend requests", count: data?.pendingGrants },
          { value: "tasks", text: "Tasks that ask", count: countTasks(data?.stats, ...WAITING) },
        ]}
      />
      {kind === "tasks" ? <AskingTasks /> : <Requests />}
    </Page>
  );
}

function Requests() {
  const wanted = usePlace().query.get("state") ?? "pending";
  const state = GRANT_STATES.find(({ word }) => word === wanted)?.state;
  const live = useLive(`grants ${wanted}`, (signal) =>
    grants.listGrants({ states: state === undefined ? [] : [state] }, { signal }),
  );
  return (
    <>
      <div class="filters">
        <Select
          label="State"
          value={wanted}
          options={[
            ...GRANT_STATES.map(({ word }) => ({ value: word, text: word })),
            { value: "any", text: "any" },
          ]}
          onChange={(value) => setQuery({ state: value === "pending" ? undefined : value })}
        />
      </div>
      <LiveFault live={live} />
      {live.data === undefined && live.failure === undefined && <Loading />}
      {live.data?.grants.length === 0 && (
        <Empty title={state === GrantState.PENDING ? "No friend request waits." : "No such friend requests."}>
          Who wants to hand work to an agent of yours asks at <code>POST /a2a/friend-requests</code>, with an
          ID token of an issuer that the configuration trusts.
        </Empty>
      )}
      {live.data?.grants.map((grant) => (
        <GrantCard key={grant.id} grant={grant} onChange={live.refresh} />
      ))}
    </>
  );
}

function AskingTasks() {
  const [replying, setReplying] = useState<TaskSummary>();
  const live = useLive("asking tasks", (signal) =>
    tasks.searchTasks({ states: [...WAITING], pageSize: 100 }, { signal }),
  );
  return (
    <>
      <LiveFault live={live} />
      {live.data === undefined && live.failure === undefined && <Loading />}
      {live.data?.tasks.length === 0 && (
        <Empty title="No task waits for an answer.">
          A worker asks with require_input or require_auth; its client or you may answer.
        </Empty>
      )}
      {live.data?.tasks.map((task) => (
        <article key={`${task.agent}/${task.id}`} class="card">
          <header class="card-head">
            <h2>
              <a data-row href={taskAddress(task.agent, task.id)}>
                {task.title || "Untitled"}
              </a>
            </h2>
            <StateBadge state={task.state} />
          </header>
          <p class="said">{task.statusText || "It does not say for what."}</p>
          <p class="sub">
            {task.agent} / {task.queue || "–"} · asked <When at={task.statusAt} />
          </p>
          <div class="buttons">
            <button
              type="button"
              class="primary"
              aria-label={`Reply to ${task.title || task.id}`}
              onClick={() => setReplying(task)}
            >
              Reply
            </button>
          </div>
        </article>
      ))}
      {replying !== undefined && (
        <ReplyDialog task={replying} onClose={() => setReplying(undefined)} onSent={live.refresh} />
      )}
    </>
  );
}
