import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type AgentStats,
  type GetStatsResponse,
  RedisMode,
  type Replica,
} from "../../../gen/baton/admin/v1/stats_pb.js";
import { queues, tasks } from "../api/clients.ts";
import { useLive } from "../api/live.ts";
import { Badge } from "../parts/badge.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { Empty, Loading } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { LiveFault } from "../parts/failure-note.tsx";
import { Page, Section } from "../parts/page.tsx";
import { counted, shortId } from "../parts/short.ts";
import { durationText, When } from "../parts/when.tsx";
import { address } from "../routing/place.ts";
import { countTasks, useAttention } from "../shell/attention.tsx";
import { concernsOf } from "./concerns.ts";
import { TASK_STATES } from "./task-state.tsx";
import { TaskTable } from "./task-table.tsx";

const LATEST = 8;

export function OverviewPage() {
  const attention = useAttention();
  const lines = useLive("queues", (signal) => queues.listQueues({}, { signal }), 3000);
  const latest = useLive("latest", (signal) => tasks.searchTasks({ pageSize: LATEST }, { signal }), 3000);
  const stats = attention.data?.stats;
  if (attention.data === undefined) {
    return (
      <Page title="Overview">
        {attention.failure === undefined ? <Loading /> : <LiveFault live={attention} />}
      </Page>
    );
  }
  if (stats === undefined) return <PersonOverview pending={attention.data.pendingGrants} />;
  const concerns = concernsOf(stats, attention.data.pendingGrants, lines.data?.queues ?? []);
  return (
    <Page title="Overview">
      <LiveFault live={attention} />
      <ul class="concerns" aria-label="What needs attention">
        {concerns.length === 0 && <li class="concern concern-none">Nothing needs you right now.</li>}
        {concerns.map(({ text, href, grave }) => (
          <li key={text} class={grave ? "concern concern-grave" : "concern"}>
            {href === undefined ? <span>{text}</span> : <a href={href}>{text}</a>}
          </li>
        ))}
      </ul>
      <Section title="Tasks" aside={<a href={address(["tasks"])}>All tasks</a>}>
        <ul class="figures">
          {TASK_STATES.map(({ state, word }) => (
            <li key={word}>
              <a href={address(["tasks"], { state: word })}>
                <strong>{countTasks(stats, state).toLocaleString()}</strong> {word}
              </a>
            </li>
          ))}
        </ul>
        {latest.data !== undefined && latest.data.tasks.length > 0 ? (
          <TaskTable caption="Tasks that changed last" tasks={latest.data.tasks} />
        ) : latest.data !== undefined ? (
          <Empty title="No tasks yet.">
            A task begins with a message of a client.{" "}
            <a href={address(["endpoints"], { new: "yes" })}>Vend a credential</a> for one.
          </Empty>
        ) : (
          <LiveFault live={latest} />
        )}
      </Section>
      <Section title="Agents">
        <Agents agents={stats.agents} />
      </Section>
      <Section title="Gateway">
        <Replicas stats={stats} />
      </Section>
      <Section title="Redis">
        <Redis stats={stats} />
      </Section>
    </Page>
  );
}

/** What a person may see who decides on friend requests alone. */
function PersonOverview({ pending }: { readonly pending: number }) {
  return (
    <Page title="Overview">
      <ul class="concerns">
        <li class={pending === 0 ? "concern concern-none" : "concern"}>
          <a href={address(["inbox"])}>
            {pending === 0
              ? "No friend request waits."
              : `${counted(pending, "friend request")} to decide on.`}
          </a>
        </li>
      </ul>
      <p>You are signed in as a person. The numbers of the gateway need the admin credential.</p>
    </Page>
  );
}

function Agents({ agents }: { readonly agents: readonly AgentStats[] }) {
  return (
    <DataTable
      caption="Agents"
      rows={agents}
      keyOf={({ agent }) => agent}
      columns={[
        {
          head: "Agent",
          cell: ({ agent, backend }) => (
            <>
              <a data-row class="row-link" href={address(["tasks"], { agent })}>
                {agent}
              </a>{" "}
              <span class="faint">{backend}</span>
            </>
          ),
        },
        {
          head: "Tasks kept",
          align: "end",
          cell: ({ tasks: counts }) =>
            counts.reduce((sum, { count }) => sum + Number(count), 0).toLocaleString(),
        },
        {
          head: "Pushes waiting",
          wideOnly: true,
          align: "end",
          cell: ({ agent, pushLanes, oldestPushAt }) =>
            pushLanes === 0n ? (
              <span class="faint">none</span>
            ) : (
              <a href={address(["pushes"], { agent })}>
                {counted(pushLanes, "config")}, since <When at={oldestPushAt} />
              </a>
            ),
        },
        {
          head: "Dead",
          align: "end",
          cell: ({ agent, deadTodos, deadPushes }) =>
            deadTodos + deadPushes === 0n ? (
              <span class="faint">none</span>
            ) : (
              <a href={address(["dead-letters"], { agent, kind: deadTodos === 0n ? "pushes" : undefined })}>
                {counted(deadTodos, "task")}, {counted(deadPushes, "push", "pushes")}
              </a>
            ),
        },
      ]}
    />
  );
}

function Replicas({ stats }: { readonly stats: GetStatsResponse }) {
  return (
    <DataTable<Replica>
      caption="Replicas of the gateway"
      rows={stats.replicas}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Replica",
          cell: ({ host, id, self }) => (
            <>
              {host} <code class="faint">{shortId(id)}</code> {self && <span class="faint">this one</span>}
            </>
          ),
        },
        {
          head: "State",
          cell: ({ ready }) => <Badge tone={ready ? "good" : "bad"}>{ready ? "ready" : "not ready"}</Badge>,
        },
        { head: "Version", wideOnly: true, cell: ({ version }) => version },
        { head: "Streams", align: "end", cell: ({ openStreams }) => openStreams.toLocaleString() },
        {
          head: "Connections",
          wideOnly: true,
          align: "end",
          cell: ({ connections }) => connections.toLocaleString(),
        },
        { head: "Started", align: "end", cell: ({ startedAt }) => <When at={startedAt} /> },
      ]}
    />
  );
}

const MODES: Readonly<Record<RedisMode, string>> = {
  [RedisMode.UNSPECIFIED]: "unknown",
  [RedisMode.EMBEDDED]: "its own, started by the gateway",
  [RedisMode.SINGLE]: "one server",
  [RedisMode.SENTINEL]: "behind Sentinel",
  [RedisMode.CLUSTER]: "Cluster",
};

function Redis({ stats }: { readonly stats: GetStatsResponse }) {
  return (
    <>
      {stats.redisServers.map((server, index) => (
        <Facts
          key={String(index)}
          facts={[
            ["Reached as", MODES[stats.redisMode]],
            ["Version", server.version],
            ["Memory", memoryText(server.usedMemoryBytes, server.maxMemoryBytes)],
            [
              "Append-only file",
              server.appendOnly ? (server.appendOnlyOk ? "kept" : "last write failed") : "not kept",
            ],
            ["When memory runs out", server.evictionPolicy],
            ["Clients", server.connectedClients.toLocaleString()],
            ["Replicas", server.connectedReplicas.toLocaleString()],
            ["Running for", durationText(server.uptime)],
          ]}
        />
      ))}
      <p class="faint">
        Version {stats.version} of Baton, running for {durationText(stats.uptime)}; read{" "}
        {stats.time === undefined
          ? ""
          : new Date(timestampMs(stats.time)).toLocaleTimeString(undefined, { hour12: false })}
        .
      </p>
    </>
  );
}

function memoryText(used: bigint, max: bigint): string {
  const megabytes = (bytes: bigint) => `${(Number(bytes) / 1_048_576).toFixed(1)} MB`;
  return max === 0n ? `${megabytes(used)}, no limit` : `${megabytes(used)} of ${megabytes(max)}`;
}
