import { useState } from "preact/hooks";
import { type AuditEntry, AuditOutcome } from "../../../gen/baton/admin/v1/audit_pb.js";
import { audit } from "../api/clients.ts";
import { useLive } from "../api/live.ts";
import { Badge, type Tone } from "../parts/badge.tsx";
import { Id } from "../parts/copy.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Empty, Loading } from "../parts/empty.tsx";
import { LiveFault } from "../parts/failure-note.tsx";
import { FilterText } from "../parts/filter-text.tsx";
import { Page } from "../parts/page.tsx";
import { When } from "../parts/when.tsx";
import { address, setQuery, usePlace } from "../routing/place.ts";

const PAGE_SIZE = 100;

const OUTCOMES: Readonly<Record<AuditOutcome, { readonly word: string; readonly tone: Tone }>> = {
  [AuditOutcome.UNSPECIFIED]: { word: "not known", tone: "waiting" },
  [AuditOutcome.OK]: { word: "done", tone: "good" },
  [AuditOutcome.REFUSED]: { word: "refused", tone: "idle" },
  [AuditOutcome.FAILED]: { word: "failed", tone: "bad" },
};

/** What operators did, newest first. */
export function AuditPage() {
  const { query } = usePlace();
  const filter = (name: string) => query.get(name) ?? "";
  const filters = query.toString();
  const [older, setOlder] = useState<{ readonly of: string; readonly token: string }>({
    of: filters,
    token: "",
  });
  const pageToken = older.of === filters ? older.token : "";
  const live = useLive(
    `audit ${filters} ${pageToken}`,
    (signal) =>
      audit.listAuditEntries(
        {
          operator: filter("operator"),
          action: filter("action"),
          target: filter("target"),
          pageSize: PAGE_SIZE,
          pageToken,
        },
        { signal },
      ),
    pageToken === "" ? 5000 : 0,
  );
  const { data } = live;
  return (
    <Page title="Audit">
      <div class="filters">
        <FilterText
          label="Action contains"
          placeholder="Press / to filter"
          value={filter("action")}
          onChange={(action) => setQuery({ action })}
        />
        {["operator", "target"].map((name) =>
          filter(name) === "" ? null : (
            <button key={name} type="button" class="chip" onClick={() => setQuery({ [name]: undefined })}>
              {name} <code>{filter(name)}</code> <span aria-hidden="true">✕</span>
              <span class="offscreen">: remove this filter</span>
            </button>
          ),
        )}
      </div>
      <LiveFault live={live} />
      {data === undefined && live.failure === undefined && <Loading />}
      {data !== undefined && data.entries.length === 0 && (
        <Empty
          title={filters === "" ? "No operator has changed anything yet." : "No entry matches these filters."}
        >
          {filters !== "" && <a href={address(["audit"])}>Show all</a>}
        </Empty>
      )}
      {data !== undefined && data.entries.length > 0 && (
        <DataTable
          caption="What operators did"
          columns={COLUMNS}
          rows={data.entries}
          keyOf={({ id }) => id}
        />
      )}
      {data !== undefined && (pageToken !== "" || data.nextPageToken !== "") && (
        <div class="pager">
          {pageToken !== "" && (
            <button type="button" onClick={() => setOlder({ of: filters, token: "" })}>
              Newest
            </button>
          )}
          {data.nextPageToken !== "" && (
            <button type="button" onClick={() => setOlder({ of: filters, token: data.nextPageToken })}>
              Older
            </button>
          )}
        </div>
      )}
    </Page>
  );
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  {
    head: "What",
    cell: ({ action, reason, details, time, operator, target }) => (
      <>
        <span title={action}>
          {action.split("/").at(-1)}{" "}
          <span class="faint">{action.slice(action.lastIndexOf(".") + 1).split("/", 1)[0]}</span>
        </span>
        <p class="sub">
          {[
            reason === "" ? "" : `“${reason}”`,
            ...Object.entries(details).map(([name, value]) => `${name}: ${value}`),
          ]
            .filter(Boolean)
            .join(" · ")}
        </p>
        <p class="sub narrow-only">
          {operator}, <When at={time} />
          {target !== "" && <>: {target}</>}
        </p>
      </>
    ),
  },
  {
    head: "To what",
    wideOnly: true,
    cell: ({ agent, target }) => (
      <>
        {target !== "" && (
          <a href={address(["audit"], { target })}>
            <code class="breaking">{target}</code>
          </a>
        )}
        {agent !== "" && <p class="sub">{agent}</p>}
      </>
    ),
  },
  {
    head: "Outcome",
    cell: ({ outcome, error }) => (
      <>
        <Badge tone={OUTCOMES[outcome].tone}>{OUTCOMES[outcome].word}</Badge>{" "}
        <span class="faint">{error}</span>
      </>
    ),
  },
  {
    head: "Who",
    wideOnly: true,
    cell: ({ operator }) => (
      <a data-row href={address(["audit"], { operator })}>
        {operator}
      </a>
    ),
  },
  {
    head: "Request",
    wideOnly: true,
    cell: ({ requestId }) => <Id value={requestId} what="the request id" short />,
  },
  { head: "When", wideOnly: true, align: "end", cell: ({ time }) => <When at={time} /> },
];
