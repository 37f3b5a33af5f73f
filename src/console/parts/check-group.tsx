import { useId } from "preact/hooks";

/** Several of a closed list. */
export function CheckGroup(props: {
  readonly legend: string;
  readonly options: readonly string[];
  readonly chosen: ReadonlySet<string>;
  readonly fault?: string | undefined;
  onChange(chosen: ReadonlySet<string>): void;
}) {
  const { legend, options, chosen, fault, onChange } = props;
  const id = useId();
  return (
    <fieldset class="checks" aria-describedby={fault === undefined ? undefined : id}>
      <legend>{legend}</legend>
      {options.map((option) => (
        <label key={option}>
          <input
            type="checkbox"
            checked={chosen.has(option)}
            onChange={(event) => {
              const next = new Set(chosen);
              if (event.currentTarget.checked) next.add(option);
              else next.delete(option);
              onChange(next);
            }}
          />
          {option}
        </label>
      ))}
      {fault !== undefined && (
        <p id={id} class="fault">
          {legend} {fault}.
        </p>
      )}
    </fieldset>
  );
}

export function Check(props: {
  readonly label: string;
  readonly checked: boolean;
  onChange(checked: boolean): void;
}) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={props.checked}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      {props.label}
    </label>
  );
}
