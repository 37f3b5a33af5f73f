import { Dialog } from "../parts/dialog.tsx";
import { PAGES } from "./pages.ts";

const KEYS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [["/"], "Go to the filter of the page"],
  [["j"], "Next row"],
  [["k"], "Row before"],
  [["Enter"], "Open the row"],
  [["Esc"], "Close a dialog, leave a filter"],
  [["?"], "This list"],
];

export function Help({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([keys, what]) => (
          <KeyLine key={what} keys={keys} what={what} />
        ))}
        {PAGES.map(({ key, title }) =>
          key === undefined ? null : <KeyLine key={title} keys={["g", key]} what={title} />,
        )}
      </dl>
      <div class="buttons">
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function KeyLine({ keys, what }: { readonly keys: readonly string[]; readonly what: string }) {
  return (
    <div>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{what}</dd>
    </div>
  );
}
