import { useEffect, useId, useState } from "preact/hooks";

/** Pause in typing after which a filter takes effect, in milliseconds. */
const SETTLE_MS = 250;

/** The text filter of a page; `/` puts the focus here. */
export function FilterText(props: {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  onChange(value: string): void;
}) {
  const { label, value, placeholder, onChange } = props;
  const id = useId();
  const [text, setText] = useState(value);
  // The address may change without the input, as by the back button.
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text.trim()), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <div class="filter filter-text">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        data-filter
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onChange(text.trim());
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
    </div>
  );
}
