import { useState } from "preact/hooks";
import type { TaskSummary } from "../../../../gen/baton/admin/v1/task_pb.js";
import { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { tasks } from "../../api/clients.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Field } from "../../parts/field.tsx";
import { notify } from "../../parts/notices.tsx";
import { hasEnded, isWaiting } from "../task-state.tsx";
import { ReplyDialog } from "./reply.tsx";

/** What can be done to a task in its state. `isRun`: a host does its work, and alone decides on another try. */
export function TaskActions(props: {
  readonly task: TaskSummary;
  readonly isRun: boolean;
  onChange(): void;
}) {
  const { task, isRun, onChange } = props;
  const [open, setOpen] = useState<"cancel" | "retry" | "reply">();
  const [reason, setReason] = useState("");
  const { agent, id } = task;
  const close = () => setOpen(undefined);
  const reasonField = (
    <Field
      label="Reason"
      name="reason"
      value={reason}
      autoFocus
      onInput={setReason}
      hint="Optional. It is kept in the audit."
    />
  );
  return (
    <>
      {!hasEnded(task.state) && (
        <button
          type="button"
          class={isWaiting(task.state) ? "primary" : undefined}
          onClick={() => setOpen("reply")}
        >
          Reply
        </button>
      )}
      {task.state === TaskState.FAILED && !isRun && (
        <button type="button" class="primary" onClick={() => setOpen("retry")}>
          Retry
        </button>
      )}
      {!hasEnded(task.state) && (
        <button type="button" onClick={() => setOpen("cancel")}>
          Cancel task
        </button>
      )}
      {open === "reply" && <ReplyDialog task={task} onClose={close} onSent={onChange} />}
      {open === "cancel" && (
        <Confirm
          title="Cancel this task?"
          action="Cancel the task"
          danger
          onClose={close}
          run={async () => {
            const { changed } = await tasks.cancelTask({ agent, id, reason });
            notify(changed ? "The task is canceled." : "The task had already ended; nothing was changed.");
            onChange();
          }}
        >
          <p>
            Its worker is told to stop, and its client sees it as canceled. A canceled task cannot be taken up
            again.
          </p>
          {reasonField}
        </Confirm>
      )}
      {open === "retry" && (
        <Confirm
          title="Retry this task?"
          action="Retry"
          onClose={close}
          run={async () => {
            await tasks.retryTask({ agent, id, reason });
            notify("The task can be claimed again.");
            onChange();
          }}
        >
          <p>
            It goes back into its queue with a fresh budget of attempts. What it went through before stays on
            record.
          </p>
          {reasonField}
        </Confirm>
      )}
    </>
  );
}
