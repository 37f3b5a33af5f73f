import type { ComponentChildren } from "preact";
import { Dialog } from "./dialog.tsx";
import { FailureNote } from "./failure-note.tsx";
import { useAction } from "./use-action.ts";

export interface ConfirmProps {
  readonly title: string;
  /** What will happen, and whether it can be undone. */
  readonly children: ComponentChildren;
  /** The verb on the button. */
  readonly action: string;
  readonly danger?: boolean;
  /** Does it. A rejection is shown in the dialog. */
  run(): Promise<void>;
  onClose(): void;
}

/** Asks before something that others will notice. */
export function Confirm({ title, children, action, danger = false, run, onClose }: ConfirmProps) {
  const { busy, failure, start } = useAction(async () => {
    await run();
    onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="prose">{children}</div>
      {failure !== undefined && <FailureNote failure={failure} />}
      <div class="buttons">
        <button type="button" onClick={onClose}>
          Leave it
        </button>
        <button type="button" class={danger ? "danger" : "primary"} disabled={busy} onClick={start}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}
