import { CopyButton } from "./copy.tsx";

/** JSON as it is, to read and to copy. */
export function JsonView({ value, what }: { readonly value: unknown; readonly what: string }) {
  const text = JSON.stringify(value, null, 2);
  return (
    <div class="json">
      <CopyButton text={text} what={what} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section tabIndex={0} aria-label={what}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
    </div>
  );
}
