import type { TaskAttempt } from "../../../../gen/baton/admin/v1/task_pb.js";
import { DataTable } from "../../parts/data-table.tsx";
import { Empty } from "../../parts/empty.tsx";
import { When } from "../../parts/when.tsx";

/** Who worked on it, the latest claim first. */
export function Attempts({ attempts }: { readonly attempts: readonly TaskAttempt[] }) {
  if (attempts.length === 0) return <Empty title="Nobody has claimed it yet." />;
  return (
    <DataTable
      caption="Attempts"
      rows={attempts}
      keyOf={({ sequence }) => String(sequence)}
      columns={[
        { head: "Claim", cell: ({ sequence }) => `#${sequence}` },
        { head: "Attempt", wideOnly: true, align: "end", cell: ({ attempt }) => attempt },
        { head: "Worker", cell: ({ worker }) => worker || <span class="faint">unnamed</span> },
        { head: "Claimed", cell: ({ claimedAt }) => <When at={claimedAt} /> },
        { head: "Alive", wideOnly: true, cell: ({ lastHeartbeatAt }) => <When at={lastHeartbeatAt} /> },
        { head: "Ended", wideOnly: true, cell: ({ endedAt }) => <When at={endedAt} none="under way" /> },
        {
          head: "Outcome",
          cell: ({ outcome, disposition, summary }) => (
            <>
              {outcome || "under way"} {disposition !== "" && <span class="faint">{disposition}</span>}
              {summary !== "" && <p class="sub">{summary}</p>}
            </>
          ),
        },
      ]}
    />
  );
}
