import { useState } from "preact/hooks";
import type { TaskSummary } from "../../../../gen/baton/admin/v1/task_pb.js";
import { tasks } from "../../api/clients.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Field } from "../../parts/field.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";
import { notify } from "../../parts/notices.tsx";
import { shortId } from "../../parts/short.ts";
import { useAction } from "../../parts/use-action.ts";
import { isWaiting } from "../task-state.tsx";

/** Answers a task in the operator's name. */
export function ReplyDialog(props: {
  readonly task: Pick<TaskSummary, "agent" | "id" | "state" | "title" | "statusText">;
  onClose(): void;
  onSent(): void;
}) {
  const { task, onClose, onSent } = props;
  const [text, setText] = useState("");
  // One id for all tries of this dialog: a try whose answer was lost is not said twice.
  const [messageId] = useState(newId);
  const { busy, failure, start } = useAction(async () => {
    await tasks.replyToTask({ agent: task.agent, id: task.id, text, messageId });
    notify("The reply was sent.");
    onSent();
    onClose();
  });
  return (
    <Dialog title={`Reply to “${task.title || shortId(task.id)}”`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        {isWaiting(task.state) && task.statusText !== "" && (
          <blockquote class="said">{task.statusText}</blockquote>
        )}
        {!isWaiting(task.state) && (
          <p class="hint">
            The task does not wait for an answer. Its worker sees the message when it looks for one.
          </p>
        )}
        <Field
          label="Message"
          name="text"
          lines={4}
          value={text}
          required
          autoFocus
          failure={failure}
          onInput={setText}
          hint="Sent in your name, not in its client's. The client sees it in the history."
        />
        {failure !== undefined && <FailureNote failure={failure} />}
        <FormButtons action="Send the reply" disabled={busy || text.trim() === ""} onClose={onClose} />
      </form>
    </Dialog>
  );
}

/** `crypto.randomUUID` is kept from pages over plain HTTP; this is not. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
