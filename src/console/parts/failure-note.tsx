import type { Failure } from "../api/failure.ts";
import type { Live } from "../api/live.ts";

/** Why something failed, with the fields that were wrong. */
export function FailureNote({ failure, retry }: { readonly failure: Failure; readonly retry?: () => void }) {
  // The gateway's text of a single fault is that of its field.
  const said = failure.fields.some(({ text }) => failure.text.includes(text));
  return (
    <div class="failure" role="alert">
      {!said && (
        <p>
          {failure.text} {failure.advice}
        </p>
      )}
      {failure.fields.length > 0 && (
        <ul>
          {failure.fields.map(({ field, text }) => (
            <li key={field + text}>
              <code>{field}</code> {text}
            </li>
          ))}
        </ul>
      )}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** What to show above or instead of live data that could not be read. */
export function LiveFault({ live }: { readonly live: Live<unknown> }) {
  if (live.failure === undefined) return null;
  const { failure, at } = live;
  if (at === undefined) return <FailureNote failure={failure} retry={live.refresh} />;
  const since = new Date(at).toLocaleTimeString(undefined, { hour12: false });
  return (
    <FailureNote
      failure={{ ...failure, advice: `Shown is what was read at ${since}. It is tried again.` }}
      retry={live.refresh}
    />
  );
}
