/** What has just happened, said once: seen at the edge of the page, and read out. */
import { useSyncExternal } from "../api/store.ts";

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly tone: "done" | "failed";
}

/** How long a notice of success is shown, in milliseconds. One of a failure stays until it is dismissed. */
const SHOWN_MS = 6000;

const listeners = new Set<() => void>();
let notices: readonly Notice[] = [];
let counted = 0;

export function notify(text: string, tone: Notice["tone"] = "done"): void {
  counted += 1;
  const id = counted;
  // A few at most: more would cover what they speak of.
  change([...notices, { id, text, tone }].slice(-3));
  if (tone === "done") setTimeout(() => dismiss(id), SHOWN_MS);
}

export function Notices() {
  const shown = useSyncExternal(subscribe, currentNotices);
  return (
    <div class="notices" role="status" aria-live="polite">
      {shown.map(({ id, text, tone }) => (
        <div key={id} class={`notice notice-${tone}`}>
          <span>{text}</span>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}

const currentNotices = () => notices;

function dismiss(id: number): void {
  change(notices.filter((notice) => notice.id !== id));
}

function change(next: readonly Notice[]): void {
  notices = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
