import { useState } from "preact/hooks";
import { type Endpoint, EndpointState } from "../../../gen/baton/admin/v1/endpoint_pb.js";
import { endpoints } from "../api/clients.ts";
import { useLive } from "../api/live.ts";
import { Badge } from "../parts/badge.tsx";
import { Check } from "../parts/check-group.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Empty, Loading } from "../parts/empty.tsx";
import { LiveFault } from "../parts/failure-note.tsx";
import { FilterText } from "../parts/filter-text.tsx";
import { Page } from "../parts/page.tsx";
import { SecretDialog } from "../parts/secret-dialog.tsx";
import { When } from "../parts/when.tsx";
import { address, setQuery, usePlace } from "../routing/place.ts";
import { useAgents } from "../shell/attention.tsx";
import { AgentFilter } from "./agent-filter.tsx";
import { CreateEndpoint } from "./endpoint/create.tsx";
import { scopeText } from "./endpoint/scope.tsx";

export function EndpointsPage() {
  const { query } = usePlace();
  const agents = useAgents();
  const agent = query.get("agent") ?? "";
  const text = query.get("text") ?? "";
  const revoked = query.get("revoked") === "yes";
  const creating = query.get("new") === "yes";
  const [made, setMade] = useState<{ readonly name: string; readonly credential: string }>();
  const live = useLive(
    `endpoints ${agent} ${revoked}`,
    (signal) => endpoints.listEndpoints({ agent, includeRevoked: revoked }, { signal }),
    5000,
  );
  const shown = live.data?.endpoints.filter((endpoint) => matches(endpoint, text.toLowerCase()));
  return (
    <Page
      title="Endpoints"
      actions={
        <button type="button" class="primary" onClick={() => setQuery({ new: "yes" })}>
          Vend an endpoint
        </button>
      }
    >
      <div class="filters">
        <FilterText
          label="Name, owner or id"
          placeholder="Press / to filter"
          value={text}
          onChange={(value) => setQuery({ text: value })}
        />
        {agents.length > 1 && <AgentFilter agent={agent} agents={agents} />}
        <Check
          label="Also revoked ones"
          checked={revoked}
          onChange={(on) => setQuery({ revoked: on ? "yes" : undefined })}
        />
      </div>
      <LiveFault live={live} />
      {live.data === undefined && live.failure === undefined && <Loading />}
      {shown !== undefined && shown.length > 0 && (
        <DataTable caption="Endpoints" columns={COLUMNS} rows={shown} keyOf={({ id }) => id} />
      )}
      {shown?.length === 0 &&
        (live.data?.endpoints.length === 0 && agent === "" ? (
          <Empty title="No endpoints yet.">
            An endpoint is a credential: whoever sends work needs one, and so does whoever does it. Vend the
            first with the button above.
          </Empty>
        ) : (
          <Empty title="No endpoint matches these filters.">
            <a href={address(["endpoints"])}>Show all</a>
          </Empty>
        ))}
      {creating && (
        <CreateEndpoint
          agents={agents}
          onClose={() => setQuery({ new: undefined })}
          onCreated={(name, credential) => {
            setQuery({ new: undefined });
            setMade({ name, credential });
            live.refresh();
          }}
        />
      )}
      {made !== undefined && (
        <SecretDialog
          title={`The credential of “${made.name}”`}
          what="the credential"
          secret={made.credential}
          onClose={() => setMade(undefined)}
        >
          <p>Hand it to whoever uses the endpoint. It is sent as a bearer token with each call.</p>
        </SecretDialog>
      )}
    </Page>
  );
}

function matches({ id, name, owner, credentialPrefix }: Endpoint, text: string): boolean {
  return [id, name, owner, credentialPrefix].some((field) => field.toLowerCase().includes(text));
}

export function EndpointBadge({ state }: { readonly state: EndpointState }) {
  const active = state === EndpointState.ACTIVE;
  return <Badge tone={active ? "good" : "idle"}>{active ? "active" : "ended"}</Badge>;
}

const COLUMNS: readonly Column<Endpoint>[] = [
  {
    head: "Endpoint",
    cell: ({ id, name, credentialPrefix, owner }) => (
      <>
        <a class="row-link" data-row href={address(["endpoints", id])}>
          {name}
        </a>
        <p class="sub">
          <code>{credentialPrefix}…</code> {owner}
        </p>
      </>
    ),
  },
  { head: "State", cell: ({ state }) => <EndpointBadge state={state} /> },
  { head: "Agent", wideOnly: true, cell: ({ agent }) => agent },
  { head: "May", wideOnly: true, cell: ({ scope }) => scopeText(scope) },
  { head: "Expires", wideOnly: true, align: "end", cell: ({ expiresAt }) => <When at={expiresAt} /> },
  { head: "Used", align: "end", cell: ({ lastSeenAt }) => <When at={lastSeenAt} /> },
];
