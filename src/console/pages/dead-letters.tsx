import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useState } from "preact/hooks";
import type { DeadTodo } from "../../../gen/baton/admin/v1/todo_pb.js";
import { pushes, todos } from "../api/clients.ts";
import { useLive } from "../api/live.ts";
import { Confirm } from "../parts/confirm.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { Empty, Loading } from "../parts/empty.tsx";
import { LiveFault } from "../parts/failure-note.tsx";
import { notify } from "../parts/notices.tsx";
import { Page } from "../parts/page.tsx";
import { shortId } from "../parts/short.ts";
import { Tabs } from "../parts/tabs.tsx";
import { When } from "../parts/when.tsx";
import { usePlace } from "../routing/place.ts";
import { countDead, useAgents, useAgentsPending, useAttention } from "../shell/attention.tsx";
import { AgentFilter } from "./agent-filter.tsx";
import { type DeadPush, PushDeadTable } from "./push-dead-table.tsx";
import { taskAddress } from "./task-table.tsx";

const LIMIT = 100;

/** What was given up: tasks whose attempts are used up, and pushes that never got through. */
export function DeadLettersPage() {
  const { query } = usePlace();
  const kind = query.get("kind") === "pushes" ? "pushes" : "tasks";
  const agent = query.get("agent") ?? "";
  const agents = useAgents();
  const pending = useAgentsPending() && agent === "";
  const dead = countDead(useAttention().data?.stats);
  // The services are asked agent by agent; an empty name is the default agent, for whoever may not list them.
  const asked = agent !== "" ? [agent] : agents.length > 0 ? agents : [""];
  return (
    <Page title="Dead letters">
      <Tabs
        label="Kinds of dead letters"
        parameter="kind"
        current={kind}
        tabs={[
          { value: "tasks", text: "Tasks that failed", count: dead.todos },
          { value: "pushes", text: "Pushes given up", count: dead.pushes },
        ]}
      />
      {agents.length > 1 && (
        <div class="filters">
          <AgentFilter agent={agent} agents={agents} />
        </div>
      )}
      {pending ? (
        <Loading />
      ) : kind === "tasks" ? (
        <DeadTasks agents={asked} />
      ) : (
        <DeadPushes agents={asked} />
      )}
    </Page>
  );
}

function DeadTasks({ agents }: { readonly agents: readonly string[] }) {
  const [retrying, setRetrying] = useState<DeadTodo>();
  const live = useLive(`dead tasks ${agents.join()}`, async (signal) => {
    const lists = await Promise.all(
      agents.map((agent) => todos.listDeadTodos({ agent, limit: LIMIT }, { signal })),
    );
    return lists.flatMap((list) => list.todos).sort((a, b) => latestFirst(a.diedAt, b.diedAt));
  });
  if (live.data === undefined) return live.failure === undefined ? <Loading /> : <LiveFault live={live} />;
  return (
    <>
      <LiveFault live={live} />
      {live.data.length === 0 ? (
        <Empty title="No task has failed for good.">
          A task comes here when its attempts are used up, or when nobody answered its question in time.
        </Empty>
      ) : (
        <DataTable
          caption="Tasks that failed for good"
          rows={live.data}
          keyOf={(todo) => `${todo.agent}/${todo.id}`}
          columns={[
            {
              head: "Task",
              cell: (todo) => (
                <>
                  <a class="row-link" data-row href={taskAddress(todo.agent, todo.id)}>
                    {todo.title || "Untitled"}
                  </a>
                  <p class="sub">
                    <code>{shortId(todo.id)}</code> {todo.reason || "its lease lapsed"}
                  </p>
                </>
              ),
            },
            {
              head: "Where",
              wideOnly: true,
              cell: ({ agent, queue }) => (
                <>
                  {agent} <span class="faint">/ {queue}</span>
                </>
              ),
            },
            { head: "Claims", align: "end", wideOnly: true, cell: ({ attempts }) => attempts },
            { head: "Failed", align: "end", cell: ({ diedAt }) => <When at={diedAt} /> },
            {
              head: "Actions",
              hideHead: true,
              align: "end",
              cell: (todo) => (
                <button
                  type="button"
                  aria-label={`Retry ${todo.title || todo.id}`}
                  onClick={() => setRetrying(todo)}
                >
                  Retry
                </button>
              ),
            },
          ]}
        />
      )}
      {live.data.length >= LIMIT && <p class="hint">The latest {LIMIT} of each agent are shown.</p>}
      {retrying !== undefined && (
        <Confirm
          title={`Retry “${retrying.title || retrying.id}”?`}
          action="Retry"
          onClose={() => setRetrying(undefined)}
          run={async () => {
            const { queue } = await todos.retryTodo({ agent: retrying.agent, id: retrying.id });
            notify(`It can be claimed from ${queue} again.`);
            live.refresh();
          }}
        >
          <p>
            It goes back into its queue with a fresh budget of attempts. What it went through before stays on
            record.
          </p>
        </Confirm>
      )}
    </>
  );
}

function DeadPushes({ agents }: { readonly agents: readonly string[] }) {
  const live = useLive(`dead pushes ${agents.join()}`, async (signal) => {
    const lists = await Promise.all(
      agents.map(async (agent): Promise<DeadPush[]> => {
        const { deadLetters } = await pushes.listDeadLetters({ agent, limit: LIMIT }, { signal });
        return deadLetters.map((letter) => ({ agent, letter }));
      }),
    );
    return lists.flat().sort((a, b) => latestFirst(a.letter.deadAt, b.letter.deadAt));
  });
  if (live.data === undefined) return live.failure === undefined ? <Loading /> : <LiveFault live={live} />;
  return (
    <>
      <LiveFault live={live} />
      {live.data.length === 0 ? (
        <Empty title="No push was given up.">
          A push comes here when its attempts are used up, or when its receiver refuses it for good.
        </Empty>
      ) : (
        <PushDeadTable letters={live.data} onChange={live.refresh} />
      )}
      {live.data.length >= LIMIT && <p class="hint">The latest {LIMIT} of each agent are shown.</p>}
    </>
  );
}

function latestFirst(a: DeadTodo["diedAt"], b: DeadTodo["diedAt"]): number {
  const ms = (time: DeadTodo["diedAt"]) => (time === undefined ? 0 : timestampMs(time));
  return ms(b) - ms(a);
}
