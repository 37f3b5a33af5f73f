import type { Scope } from "../../../../gen/baton/admin/v1/endpoint_pb.js";

/** What an endpoint may be granted; the names are those of the worker service's operations. */
export const SUBMIT_VERBS: readonly string[] = ["create_for"];
export const WORK_VERBS: readonly string[] = [
  "list_todos",
  "get_todo",
  "claim",
  "claim_next",
  "heartbeat",
  "complete",
  "fail",
  "release",
  "reject",
  "require_input",
  "require_auth",
  "add_artifact",
  "update_status",
  "get_messages",
  "get_default_lease",
  "set_default_lease",
];

/** A scope in a few words. */
export function scopeText(scope: Scope | undefined): string {
  if (scope === undefined) return "nothing";
  const submits = scope.verbs.includes("create_for");
  const works = scope.verbs.filter((verb) => verb !== "create_for").length;
  const does =
    works === 0
      ? "send"
      : works === WORK_VERBS.length
        ? submits
          ? "send and work"
          : "work"
        : `${submits ? "send and " : ""}${works} of the verbs of work`;
  const more = [scope.streaming ? "stream" : "", scope.push ? "push" : ""].filter(Boolean);
  return `${[does, ...more].join(", ")} in ${scope.queues.join(", ")}`;
}

export function ScopeView({ scope }: { readonly scope: Scope | undefined }) {
  if (scope === undefined) return <span class="faint">none</span>;
  return (
    <ul class="plain">
      <li>
        Queues:{" "}
        {scope.queues.map((queue) => (
          <code key={queue}>{queue} </code>
        ))}
      </li>
      <li>
        Verbs:{" "}
        {scope.verbs.map((verb) => (
          <code key={verb}>{verb} </code>
        ))}
      </li>
      <li>
        Streaming: {scope.streaming ? "yes" : "no"}, push: {scope.push ? "yes" : "no"}
      </li>
    </ul>
  );
}
