import type { PushLane } from "../../../gen/baton/admin/v1/push_pb.js";
import { pushes } from "../api/clients.ts";
import { useLive } from "../api/live.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Empty, Loading } from "../parts/empty.tsx";
import { LiveFault } from "../parts/failure-note.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Select } from "../parts/select.tsx";
import { shortId } from "../parts/short.ts";
import { When } from "../parts/when.tsx";
import { address, setQuery, usePlace } from "../routing/place.ts";
import { useAgents, useAgentsPending } from "../shell/attention.tsx";
import { AttemptTable, failureText } from "./attempt-table.tsx";
import { taskAddress } from "./task-table.tsx";

const ATTEMPTS = 50;

/** What waits to be pushed, and what was tried. */
export function PushesPage() {
  const agents = useAgents();
  const named = usePlace().query.get("agent");
  const pending = useAgentsPending() && named === null;
  return (
    <Page title="Pushes">
      {agents.length > 1 && (
        <div class="filters">
          <Select
            label="Agent"
            value={named ?? agents[0] ?? ""}
            options={agents.map((name) => ({ value: name, text: name }))}
            onChange={(value) => setQuery({ agent: value })}
          />
        </div>
      )}
      {pending ? <Loading /> : <AgentPushes agent={named ?? agents[0] ?? ""} />}
    </Page>
  );
}

function AgentPushes({ agent }: { readonly agent: string }) {
  const live = useLive(`pushes ${agent}`, async (signal) => {
    const [status, tried] = await Promise.all([
      pushes.getPushStatus({ agent }, { signal }),
      pushes.listPushAttempts({ agent, limit: ATTEMPTS }, { signal }),
    ]);
    return { status, attempts: tried.attempts };
  });
  const { data } = live;
  return (
    <>
      <LiveFault live={live} />
      {data === undefined && live.failure === undefined && <Loading />}
      {data !== undefined && !data.status.enabled && (
        <Empty title="Push notifications are off.">
          With a Redis that is not embedded they need <code>push.secretKey</code> in the configuration.
        </Empty>
      )}
      {data?.status.enabled && (
        <>
          <ul class="figures">
            <li>
              <strong>{data.status.laneCount.toLocaleString()}</strong> configs with work
            </li>
            <li>
              <strong>{data.status.outboxCount.toLocaleString()}</strong> events not yet handed on
            </li>
            <li>
              <a href={address(["dead-letters"], { agent, kind: "pushes" })}>
                <strong>{data.status.deadLetterCount.toLocaleString()}</strong> given up
              </a>
            </li>
          </ul>
          {data.status.egressExceptions.length > 0 && (
            <div class="note">
              <p>Opened in the egress guard by the configuration:</p>
              <ul>
                {data.status.egressExceptions.map((text) => (
                  <li key={text}>{text}</li>
                ))}
              </ul>
            </div>
          )}
          <Section title="Waiting">
            {data.status.lanes.length === 0 ? (
              <Empty title="Nothing waits." />
            ) : (
              <DataTable
                caption="Configs whose pushes wait"
                rows={data.status.lanes}
                keyOf={({ taskId, configId }) => `${taskId}/${configId}`}
                columns={laneColumns(agent)}
              />
            )}
          </Section>
          <Section title="Latest attempts">
            {data.attempts.length === 0 ? (
              <Empty title="Nothing was pushed yet.">
                A client asks to be called back with a push config, by an endpoint that may push.
              </Empty>
            ) : (
              <AttemptTable attempts={data.attempts} agent={agent} />
            )}
          </Section>
        </>
      )}
    </>
  );
}

function laneColumns(agent: string): readonly Column<PushLane>[] {
  return [
    {
      head: "Task",
      cell: ({ taskId }) => (
        <a data-row href={taskAddress(agent, taskId)}>
          <code>{shortId(taskId)}</code>
        </a>
      ),
    },
    { head: "Receiver", cell: ({ host }) => <code class="breaking">{host}</code> },
    { head: "Waiting", align: "end", cell: ({ depth }) => depth },
    { head: "Oldest", align: "end", cell: ({ oldestAt }) => <When at={oldestAt} /> },
    { head: "Failed tries", align: "end", wideOnly: true, cell: ({ attempts }) => attempts },
    {
      head: "Last fault",
      wideOnly: true,
      cell: ({ lastAttempt }) => (lastAttempt === undefined ? "none" : failureText(lastAttempt)),
    },
    {
      head: "Next try",
      align: "end",
      wideOnly: true,
      cell: ({ lastAttempt }) => <When at={lastAttempt?.nextAttemptAt} none="due" />,
    },
  ];
}
