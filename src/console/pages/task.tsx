import { toJson } from "@bufbuild/protobuf";
import type { ComponentChildren } from "preact";
import { type GetTaskResponse, GetTaskResponseSchema } from "../../../gen/baton/admin/v1/task_pb.js";
import { tasks } from "../api/clients.ts";
import { useLive } from "../api/live.ts";
import { Id } from "../parts/copy.tsx";
import { Empty, Loading } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { LiveFault } from "../parts/failure-note.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { Page } from "../parts/page.tsx";
import { shortId } from "../parts/short.ts";
import { Tabs } from "../parts/tabs.tsx";
import { When } from "../parts/when.tsx";
import { address, usePlace } from "../routing/place.ts";
import { TaskActions } from "./task/actions.tsx";
import { Attempts } from "./task/attempts.tsx";
import { MessageView, Parts } from "./task/content.tsx";
import { Deliveries } from "./task/deliveries.tsx";
import { Timeline } from "./task/timeline.tsx";
import type { TaskViewProps } from "./task/view.ts";
import { RunFactsView, TodoFactsView } from "./task/work-facts.tsx";
import { hasEnded, isWaiting, StateBadge } from "./task-state.tsx";

const OPEN_MS = 2000;
/** Pushes and retention go on after the end. */
const ENDED_MS = 10_000;

/** One that has ended changes no more. */
const pauseOf = (task: GetTaskResponse | undefined): number =>
  task?.summary !== undefined && hasEnded(task.summary.state) ? ENDED_MS : OPEN_MS;

/** Asks for what may be large only where it has changed. */
async function readTask(
  agent: string,
  id: string,
  signal: AbortSignal,
  last: GetTaskResponse | undefined,
): Promise<GetTaskResponse> {
  const knownRevision = last?.revision ?? "";
  const answer = await tasks.getTask({ agent, id, knownRevision }, { signal });
  if (answer.task === undefined && last?.task !== undefined) answer.task = last.task;
  return answer;
}

export function TaskPage({ names }: { readonly names: readonly string[] }) {
  const [agent = "", id = ""] = names;
  const live = useLive(
    `task ${agent} ${id}`,
    (signal, last?: GetTaskResponse) => readTask(agent, id, signal, last),
    pauseOf,
  );
  const { data } = live;
  if (data?.summary === undefined) {
    return (
      <Page title={<>Task {shortId(id)}</>}>
        {live.failure === undefined ? <Loading /> : <LiveFault live={live} />}
        {live.failure !== undefined && (
          <p>
            It may have been removed after its retention, or belong to another agent.{" "}
            <a href={address(["tasks"])}>All tasks</a>
          </p>
        )}
      </Page>
    );
  }
  const { summary } = data;
  const everyMs = pauseOf(data);
  return (
    <Page
      title={summary.title || "Untitled task"}
      actions={<TaskActions task={summary} isRun={data.work.case === "run"} onChange={live.refresh} />}
    >
      <LiveFault live={live} />
      <p class="task-line">
        {/* Only this: the time beside it changes without news. */}
        <span aria-live="polite">
          <StateBadge state={summary.state} />
        </span>
        <span>
          since&nbsp;
          <When at={summary.statusAt} />
        </span>
        <Id value={id} what="the task id" />
      </p>
      {isWaiting(summary.state) && (
        <div class="asks">
          <p class="asks-head">It waits for an answer</p>
          <p class="said">{summary.statusText || "It does not say for what."}</p>
        </div>
      )}
      <div class="task-columns">
        <div class="task-views">
          <Views task={data} agent={agent} id={id} everyMs={everyMs} version={data.version} />
        </div>
        <aside class="task-facts" aria-label="Facts">
          <TaskFacts task={data} />
        </aside>
      </div>
    </Page>
  );
}

function Views(props: TaskViewProps & { readonly task: GetTaskResponse }) {
  const { task, ...where } = props;
  const messages = task.task?.history ?? [];
  const artifacts = task.task?.artifacts ?? [];
  const attempts = task.work.case === "todo" ? task.work.value.attempts : undefined;
  const views: readonly { value: string; text: string; count?: number; show(): ComponentChildren }[] = [
    { value: "timeline", text: "Timeline", show: () => <Timeline {...where} /> },
    {
      value: "messages",
      text: "Messages",
      count: messages.length,
      show: () =>
        messages.length === 0 ? (
          <Empty title="No messages." />
        ) : (
          messages.map((message) => <MessageView key={message.messageId} message={message} />)
        ),
    },
    {
      value: "artifacts",
      text: "Artifacts",
      count: artifacts.length,
      show: () =>
        artifacts.length === 0 ? (
          <Empty title="No artifacts yet." />
        ) : (
          artifacts.map((artifact) => (
            <article key={artifact.artifactId} class="message">
              <header>
                <strong>{artifact.name || "Artifact"}</strong>{" "}
                <code class="faint">{artifact.artifactId}</code>
              </header>
              {artifact.description !== "" && <p class="sub">{artifact.description}</p>}
              <Parts parts={artifact.parts} />
            </article>
          ))
        ),
    },
    ...(attempts === undefined
      ? []
      : [
          {
            value: "attempts",
            text: "Attempts",
            count: attempts.length,
            show: () => <Attempts attempts={attempts} />,
          },
        ]),
    {
      value: "deliveries",
      text: "Deliveries",
      show: () => <Deliveries {...where} configs={task.pushConfigs} />,
    },
    {
      value: "json",
      text: "JSON",
      show: () => <JsonView value={toJson(GetTaskResponseSchema, task)} what="the task as JSON" />,
    },
  ];
  const wanted = usePlace().query.get("view");
  const view = views.find(({ value }) => value === wanted) ?? views[0];
  if (view === undefined) return null;
  return (
    <>
      <Tabs label="Views of the task" parameter="view" current={view.value} tabs={views} />
      {view.show()}
    </>
  );
}

function TaskFacts({ task }: { readonly task: GetTaskResponse }) {
  const { summary } = task;
  if (summary === undefined) return null;
  const { agent, queue, contextId, endpointId } = summary;
  return (
    <>
      <Facts
        facts={[
          ["Agent", <a href={address(["tasks"], { agent })}>{agent}</a>],
          ["Queue", queue === "" ? "–" : <a href={address(["tasks"], { agent, queue })}>{queue}</a>],
          ["Kind", summary.kind || "–"],
          ["Sent by", <a href={address(["endpoints", endpointId])}>{shortId(endpointId)}</a>],
          [
            "Conversation",
            <a href={address(["tasks"], { agent, context: contextId })}>{shortId(contextId)}</a>,
          ],
          ["Created", <When at={summary.createdAt} />],
          ["Changed", <When at={task.updatedAt} />],
          ["Removed", <When at={task.removedAt} none="not planned" />],
          ["Push configs", task.pushConfigs],
          ["Sent with a key", task.idempotencyKey ? "yes" : "no"],
          ["Log, version", `${task.sequence}, ${task.version}`],
        ]}
      />
      {task.work.case === "todo" && <TodoFactsView todo={task.work.value} summary={summary} />}
      {task.work.case === "run" && <RunFactsView run={task.work.value} />}
    </>
  );
}
