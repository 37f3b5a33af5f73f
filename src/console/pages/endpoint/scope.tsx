import type { Scope } from "../../../../gen/baton/admin/v1/endpoint_pb.js";
import { WORK_VERBS } from "./verbs.ts";

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
