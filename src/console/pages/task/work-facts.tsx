/** What the gateway knows of the work behind a task. */
import type { RunFacts, TaskSummary, TodoFacts } from "../../../../gen/baton/admin/v1/task_pb.js";
import { Facts } from "../../parts/facts.tsx";
import { When } from "../../parts/when.tsx";
import { address } from "../../routing/place.ts";

export function TodoFactsView({
  todo,
  summary,
}: {
  readonly todo: TodoFacts;
  readonly summary: TaskSummary;
}) {
  const { holder, attempt, maxAttempts } = summary;
  return (
    <>
      <h2 class="facts-head">Work in a queue</h2>
      <Facts
        facts={[
          ["State", todo.state],
          todo.position > 0n ? ["In line", `${todo.position}`] : undefined,
          ["Attempt", `${attempt} of ${maxAttempts}`],
          ["Claims", todo.claims],
          holder === undefined
            ? ["Held by", "nobody"]
            : [
                "Held by",
                <a href={address(["endpoints", holder.endpointId])}>{holder.worker || "unnamed"}</a>,
              ],
          holder === undefined ? undefined : ["Lease ends", <When at={holder.expiresAt} />],
          todo.assignee === "" ? undefined : ["Meant for", todo.assignee],
          todo.notBefore === undefined ? undefined : ["Not before", <When at={todo.notBefore} />],
          todo.waitingSince === undefined ? undefined : ["Waits since", <When at={todo.waitingSince} />],
          todo.waitEndsAt === undefined ? undefined : ["Fails, unanswered", <When at={todo.waitEndsAt} />],
          todo.lastFailure === "" ? undefined : ["Last failure", todo.lastFailure],
          todo.source === "" ? undefined : ["From friend", todo.source],
        ]}
      />
    </>
  );
}

export function RunFactsView({ run }: { readonly run: RunFacts }) {
  return (
    <>
      <h2 class="facts-head">Run of a host</h2>
      <Facts
        facts={[
          ["Status", run.status],
          run.interruptKind === "" ? undefined : ["Waits for", run.interruptKind],
          run.interruptNode === "" ? undefined : ["At node", run.interruptNode],
          run.approvers.length === 0 ? undefined : ["May answer", run.approvers.join(", ")],
          ["Events taken in", run.cursor < 0n ? "none" : `to ${run.cursor}`],
          ["Followed by", run.follower || "nobody"],
          ["Looked after", <When at={run.dueAt} none="ended" />],
          ["Credential", run.credentialName || "–"],
          run.errorCode === "" ? undefined : ["Error", run.errorCode],
        ]}
      />
    </>
  );
}
