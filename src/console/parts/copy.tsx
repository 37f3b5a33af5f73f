import { useEffect, useState } from "preact/hooks";
import { notify } from "./notices.tsx";
import { shortId } from "./short.ts";

/** How long the button says that it has copied, in milliseconds. */
const SAID_MS = 2000;

/** Copies a text. `what` names it to those who cannot see beside what the button stands. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  // Said by the button too: notices are behind a dialog, where nothing is read out.
  const label = copied ? `Copied ${what}` : `Copy ${what}`;
  return (
    <button
      type="button"
      class="quiet copy"
      aria-label={label}
      title={label}
      onClick={(event) => {
        void copy(text, event.currentTarget).then((done) => {
          setCopied(done);
          if (done) notify(`Copied ${what}.`);
          else notify(`The browser did not let ${what} be copied: select it and copy it by hand.`, "failed");
        });
      }}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {copied ? (
          <path d="m3 8.5 3.5 3.5L13 4.5" />
        ) : (
          <>
            <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
            <path d="M10.5 3.5v-1h-8v8h1" />
          </>
        )}
      </svg>
    </button>
  );
}

/** An id that can be copied. `short`: only the first characters are shown, all of them are copied. */
export function Id({
  value,
  what,
  short = false,
}: {
  readonly value: string;
  readonly what: string;
  readonly short?: boolean;
}) {
  if (value === "") return <span class="faint">none</span>;
  return (
    <span class="id">
      <code title={value} class={short ? "nowrap" : undefined}>
        {short ? `${shortId(value)}…` : value}
      </code>
      <CopyButton text={value} what={what} />
    </span>
  );
}

/** The clipboard proper is kept from pages over plain HTTP; there the old way still works. */
async function copy(text: string, beside: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "offscreen";
    // Inside an open dialog nothing outside can be selected.
    (beside.closest("dialog") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    beside.focus();
    return done;
  }
}
