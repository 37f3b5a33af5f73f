import type { ComponentChildren } from "preact";
import { CopyButton } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";

/** Shows a secret this once. Only its button closes it. */
export function SecretDialog(props: {
  readonly title: string;
  readonly what: string;
  readonly secret: string;
  readonly children: ComponentChildren;
  onClose(): void;
}) {
  const { title, what, secret, children, onClose } = props;
  return (
    <Dialog title={title} sticky onClose={onClose}>
      <div class="prose">{children}</div>
      <div class="secret">
        <code data-secret>{secret}</code>
        <CopyButton text={secret} what={what} />
      </div>
      <p class="warning">
        It is shown this once. The gateway keeps only its hash, so nobody can show it again.
      </p>
      <div class="buttons">
        <button type="button" class="primary" onClick={onClose}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}
