import type { Queue, Worker } from "../../../gen/baton/admin/v1/queue_pb.js";
import { queues } from "../api/clients.ts";
import { useLive } from "../api/live.ts";
import { Badge } from "../parts/badge.tsx";
import { Command } from "../parts/command.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Empty, Loading } from "../parts/empty.tsx";
import { LiveFault } from "../parts/failure-note.tsx";
import { Page, Section } from "../parts/page.tsx";
import { shortId } from "../parts/short.ts";
import { When } from "../parts/when.tsx";
import { address, usePlace } from "../routing/place.ts";
import { useAgents } from "../shell/attention.tsx";
import { AgentFilter } from "./agent-filter.tsx";
import { taskAddress } from "./task-table.tsx";

export function QueuesPage() {
  const agent = usePlace().query.get("agent") ?? "";
  const agents = useAgents();
  const lines = useLive(`queues ${agent}`, (signal) => queues.listQueues({ agent }, { signal }));
  const staff = useLive(`workers ${agent}`, (signal) => queues.listWorkers({ agent }, { signal }));
  return (
    <Page title="Queues and workers">
      {agents.length > 1 && (
        <div class="filters">
          <AgentFilter agent={agent} agents={agents} />
        </div>
      )}
      <Section title="Queues">
        <LiveFault live={lines} />
        {lines.data === undefined && lines.failure === undefined && <Loading />}
        {lines.data !== undefined && lines.data.queues.length === 0 && (
          <Empty title="No queues.">Agents whose work is done by a host have none.</Empty>
        )}
        {lines.data !== undefined && lines.data.queues.length > 0 && (
          <DataTable
            caption="Queues"
            rows={lines.data.queues}
            keyOf={(queue) => `${queue.agent}/${queue.name}`}
            columns={QUEUE_COLUMNS}
          />
        )}
      </Section>
      <Section title="Workers">
        <LiveFault live={staff} />
        {staff.data !== undefined && staff.data.workers.length === 0 && (
          <Empty title="No worker was seen in the last hour.">
            <p>
              Vend a credential for work at <a href={address(["endpoints"], { new: "yes" })}>Endpoints</a>,
              and start one:
            </p>
            <Command line='BATON_CREDENTIAL=… baton worker --exec "./do-work"' />
          </Empty>
        )}
        {staff.data !== undefined && staff.data.workers.length > 0 && (
          <DataTable
            caption="Workers"
            rows={staff.data.workers}
            keyOf={(worker) => `${worker.agent}/${worker.endpointId}/${worker.name}`}
            columns={WORKER_COLUMNS}
          />
        )}
      </Section>
    </Page>
  );
}

const number = (value: bigint | undefined) =>
  value === undefined || value === 0n ? <span class="faint">0</span> : value.toLocaleString();

const QUEUE_COLUMNS: readonly Column<Queue>[] = [
  {
    head: "Queue",
    cell: ({ agent, name, depth, workers }) => (
      <>
        <a class="row-link" data-row href={address(["tasks"], { agent, queue: name })}>
          {agent} / {name}
        </a>
        {workers === 0 && (depth?.ready ?? 0n) > 0n && (
          <p class="sub">
            <Badge tone="bad">nobody works here</Badge>
          </p>
        )}
      </>
    ),
  },
  { head: "Ready", align: "end", cell: ({ depth }) => number(depth?.ready) },
  { head: "Held", align: "end", cell: ({ depth }) => number(depth?.leased) },
  { head: "Waiting for client", align: "end", wideOnly: true, cell: ({ depth }) => number(depth?.waiting) },
  { head: "To be retried", align: "end", wideOnly: true, cell: ({ depth }) => number(depth?.delayed) },
  {
    head: "Dead",
    align: "end",
    cell: ({ agent, depth }) =>
      (depth?.dead ?? 0n) === 0n ? (
        number(0n)
      ) : (
        <a href={address(["dead-letters"], { agent })}>{depth?.dead.toLocaleString()}</a>
      ),
  },
  { head: "Workers", align: "end", wideOnly: true, cell: ({ workers }) => workers.toLocaleString() },
  {
    head: "Next in line since",
    align: "end",
    wideOnly: true,
    cell: ({ oldestReadyAt }) => <When at={oldestReadyAt} none="empty" />,
  },
];

const WORKER_COLUMNS: readonly Column<Worker>[] = [
  {
    head: "Worker",
    cell: ({ name, endpointId, endpointName }) => (
      <>
        {name || "unnamed"}
        <p class="sub">
          <a href={address(["endpoints", endpointId])}>{endpointName || "a deleted endpoint"}</a>
        </p>
      </>
    ),
  },
  {
    head: "Where",
    wideOnly: true,
    cell: ({ agent, queues: names }) => (
      <>
        {agent} <span class="faint">/ {names.join(", ") || "–"}</span>
      </>
    ),
  },
  {
    head: "Holds",
    cell: ({ agent, todos, held }) =>
      held === 0 ? (
        <span class="faint">nothing</span>
      ) : (
        <ul class="plain">
          {todos.slice(0, 5).map((todo) => (
            <li key={todo.id}>
              <a data-row href={taskAddress(agent, todo.id)}>
                {todo.title || shortId(todo.id)}
              </a>{" "}
              <span class="faint">
                {todo.state === "claimed" ? (
                  <>
                    lease ends <When at={todo.leaseExpiresAt} />
                  </>
                ) : (
                  "waits for its client"
                )}
              </span>
            </li>
          ))}
          {held > 5 && <li class="faint">and {held - 5} more</li>}
        </ul>
      ),
  },
  { head: "Seen", align: "end", cell: ({ lastSeenAt }) => <When at={lastSeenAt} none="over an hour ago" /> },
];
