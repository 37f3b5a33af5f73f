/** Tasks as an operator sees them. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  RunFactsSchema,
  TaskSummarySchema,
  TodoFactsSchema,
} from "../../../gen/baton/admin/v1/task_pb.js";
import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { NEW_RUN, type RunView } from "../../domain/openwop/run-fold.ts";
import type { TaskFacts, TaskFields } from "../../store/operator-tasks.ts";
import type { AttemptRecord } from "../../store/todo-records.ts";

const MAX_STATUS_TEXT = 500;

/** A time that may be absent, as a field that then is absent too. */
export function timeField<K extends string>(name: K, ms: number | undefined) {
  return (ms === undefined ? {} : { [name]: timestampFromMs(Math.floor(ms)) }) as {
    [key in K]?: ReturnType<typeof timestampFromMs>;
  };
}

/** The texts of a message in one line, cut off after so many characters. */
export function lineOf(message: Message | undefined, max: number): string {
  const texts = (message?.parts ?? []).flatMap(({ content }) =>
    content.case === "text" ? [content.value] : [],
  );
  return cut(texts.join(" "), max);
}

/** A text in one line, cut off after so many characters. */
export function cut(text: string, max: number): string {
  // Only as much is looked at as can be shown: it may be as long as a request.
  const line = text
    .slice(0, max * 4)
    .replace(/\s+/g, " ")
    .trim();
  const characters = [...line];
  return characters.length <= max ? line : `${characters.slice(0, max).join("")}…`;
}

export function summaryView(
  agent: string,
  fields: TaskFields,
): MessageInitShape<typeof TaskSummarySchema> & { id: string } {
  const holder = {
    endpointId: fields.text("holder"),
    worker: fields.text("claimant"),
    ...timeField("expiresAt", fields.time("lease")),
  };
  return {
    id: fields.text("id"),
    agent,
    contextId: fields.text("ctx"),
    endpointId: fields.text("owner"),
    queue: fields.text("queue"),
    title: fields.text("title"),
    kind: fields.text("kind"),
    state: fields.number("a2a"),
    ...timeField("createdAt", fields.time("created")),
    ...timeField("statusAt", fields.time("at")),
    attempt: fields.number("attempt"),
    maxAttempts: fields.number("max"),
    ...(fields.has("holder") ? { holder } : {}),
    statusText: lineOf(fields.message("smsg"), MAX_STATUS_TEXT),
  };
}

/** `interruptLimitMs`: how long a todo may wait for its client; 0: for ever. */
export function todoView(
  { fields, attempts, position }: TaskFacts,
  interruptLimitMs: number,
): MessageInitShape<typeof TodoFactsSchema> {
  const since = fields.time("since");
  const waitEnds = since === undefined || interruptLimitMs === 0 ? undefined : since + interruptLimitMs;
  return {
    state: fields.text("state"),
    position: BigInt(position === undefined ? 0 : position + 1),
    assignee: fields.text("assignee"),
    claims: fields.number("aseq"),
    ...timeField("notBefore", fields.time("nb")),
    ...timeField("waitingSince", since),
    ...timeField("waitEndsAt", waitEnds),
    lastFailure: fields.text("lastfail"),
    source: fields.text("source"),
    attempts: attempts.map(attemptView),
  };
}

function attemptView(attempt: AttemptRecord) {
  return {
    sequence: attempt.seq,
    attempt: attempt.attempt,
    worker: attempt.claimant,
    ...timeField("claimedAt", attempt.claimedAt),
    ...timeField("lastHeartbeatAt", attempt.lastHeartbeatAt),
    ...timeField("endedAt", attempt.endedAt),
    outcome: attempt.outcome ?? "",
    disposition: attempt.disposition ?? "",
    summary: attempt.summary ?? "",
  };
}

export function runView({ fields, runDueAt }: TaskFacts): MessageInitShape<typeof RunFactsSchema> {
  const view: RunView = { ...NEW_RUN, ...(JSON.parse(fields.text("run")) as Partial<RunView>) };
  return {
    status: view.status,
    interruptKind: fields.text("ikind"),
    interruptNode: view.interrupt?.nodeId ?? "",
    approvers: [...(view.interrupt?.approvers ?? [])],
    cursor: BigInt(fields.number("cursor")),
    follower: fields.text("rholder"),
    ...timeField("dueAt", runDueAt),
    credentialName: fields.text("cred"),
    errorCode: view.errorCode,
    interruptTitle: view.interrupt?.title ?? "",
    actions: [...(view.interrupt?.actions ?? [])],
    questions: (view.interrupt?.questions ?? []).map(({ id, question }) => ({ id, question })),
  };
}
