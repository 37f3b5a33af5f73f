import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useState } from "preact/hooks";
import { tasks } from "../api/clients.ts";
import { useLive } from "../api/live.ts";
import { Command } from "../parts/command.tsx";
import { Empty, Loading } from "../parts/empty.tsx";
import { LiveFault } from "../parts/failure-note.tsx";
import { FilterText } from "../parts/filter-text.tsx";
import { Page } from "../parts/page.tsx";
import { Select } from "../parts/select.tsx";
import { address, setQuery, usePlace } from "../routing/place.ts";
import { useAgents } from "../shell/attention.tsx";
import { AgentFilter } from "./agent-filter.tsx";
import { TASK_STATES } from "./task-state.tsx";
import { TaskTable } from "./task-table.tsx";

const PAGE_SIZE = 50;

const HOURS: readonly { readonly value: string; readonly text: string }[] = [
  { value: "", text: "any time" },
  { value: "1", text: "the last hour" },
  { value: "24", text: "the last day" },
  { value: "168", text: "the last week" },
];

/** Filters of the address that are not choices of a list: they are come to by links from other pages. */
const NARROWED = [
  ["queue", "queue"],
  ["context", "conversation"],
  ["endpoint", "sent by endpoint"],
] as const;

export function TasksPage() {
  const { query } = usePlace();
  const agents = useAgents();
  const filter = (name: string) => query.get(name) ?? "";
  const filters = query.toString();
  // Tokens of the pages before this one. A token does not live long, so it is no part of the address.
  const [turned, setTurned] = useState<{ readonly of: string; readonly tokens: readonly string[] }>({
    of: filters,
    tokens: [],
  });
  const tokens = turned.of === filters ? turned.tokens : [];
  const pageToken = tokens.at(-1) ?? "";
  const state = TASK_STATES.find(({ word }) => word === filter("state"))?.state;
  const hours = Number(filter("within")) || 0;

  const live = useLive(
    `${filters}|${pageToken}`,
    (signal) =>
      tasks.searchTasks(
        {
          agent: filter("agent"),
          queue: filter("queue"),
          contextId: filter("context"),
          endpointId: filter("endpoint"),
          idPrefix: filter("id"),
          states: state === undefined ? [] : [state],
          ...(hours > 0 ? { statusAfter: timestampFromMs(Date.now() - hours * 3_600_000) } : {}),
          pageSize: PAGE_SIZE,
          pageToken,
        },
        { signal },
      ),
    // An earlier page stands still, so that it can be read.
    pageToken === "" && hours === 0 ? undefined : 0,
  );
  const { data } = live;
  const turn = (next: readonly string[]) => setTurned({ of: filters, tokens: next });

  return (
    <Page title="Tasks">
      <div class="filters">
        <FilterText
          label="Id starts with"
          placeholder="Press / to filter"
          value={filter("id")}
          onChange={(id) => setQuery({ id })}
        />
        <Select
          label="State"
          value={filter("state")}
          options={[
            { value: "", text: "any" },
            ...TASK_STATES.map(({ word }) => ({ value: word, text: word })),
          ]}
          onChange={(value) => setQuery({ state: value })}
        />
        {agents.length > 1 && <AgentFilter agent={filter("agent")} agents={agents} />}
        <Select
          label="Changed in"
          value={filter("within")}
          options={HOURS}
          onChange={(within) => setQuery({ within })}
        />
        {NARROWED.map(([name, text]) =>
          filter(name) === "" ? null : (
            <button key={name} type="button" class="chip" onClick={() => setQuery({ [name]: undefined })}>
              {text} <code>{filter(name)}</code> <span aria-hidden="true">✕</span>
              <span class="offscreen">: remove this filter</span>
            </button>
          ),
        )}
      </div>
      <LiveFault live={live} />
      {data === undefined && live.failure === undefined && <Loading />}
      {data !== undefined && data.tasks.length > 0 && <TaskTable caption="Tasks" tasks={data.tasks} />}
      {data !== undefined && data.tasks.length === 0 && (
        <NoTasks filtered={filters !== ""} more={data.nextPageToken !== ""} />
      )}
      {data !== undefined && (tokens.length > 0 || data.nextPageToken !== "") && (
        <div class="pager">
          {tokens.length > 0 && (
            <button type="button" onClick={() => turn(tokens.slice(0, -1))}>
              Newer
            </button>
          )}
          {tokens.length > 0 && (
            <span class="faint">Page {tokens.length + 1}, as it was when it was opened</span>
          )}
          {data.nextPageToken !== "" && (
            <button type="button" onClick={() => turn([...tokens, data.nextPageToken])}>
              {data.tasks.length === 0 ? "Search on" : "Older"}
            </button>
          )}
        </div>
      )}
    </Page>
  );
}

function NoTasks({ filtered, more }: { readonly filtered: boolean; readonly more: boolean }) {
  if (more)
    return <Empty title="None among the tasks examined so far.">There are older ones to search.</Empty>;
  if (filtered) {
    return (
      <Empty title="No task matches these filters.">
        <a href={address(["tasks"])}>Show all tasks</a>
      </Empty>
    );
  }
  return (
    <Empty title="No tasks yet.">
      <p>
        A task begins with a message of a client. Vend a credential at{" "}
        <a href={address(["endpoints"])}>Endpoints</a>, then:
      </p>
      <Command line='BATON_CREDENTIAL=… baton send "Hello"' />
    </Empty>
  );
}
