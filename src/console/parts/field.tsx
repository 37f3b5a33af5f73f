import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { type Failure, fieldFault } from "../api/failure.ts";

export interface FieldProps {
  readonly label: string;
  /** The request's name of it, by which the gateway names what is wrong. */
  readonly name: string;
  readonly value: string;
  readonly hint?: ComponentChildren;
  readonly failure?: Failure | undefined;
  readonly type?: "text" | "password" | "number" | "datetime-local";
  readonly lines?: number;
  readonly required?: boolean;
  readonly autoFocus?: boolean;
  readonly placeholder?: string;
  onInput(value: string): void;
}

/** A labelled input with its hint and its fault tied to it. */
export function Field(props: FieldProps) {
  const { label, name, value, hint, failure, type = "text", lines, required = false, placeholder } = props;
  const id = useId();
  const fault = fieldFault(failure, name);
  const described = [hint === undefined ? "" : `${id}-hint`, fault === undefined ? "" : `${id}-fault`];
  const shared = {
    id,
    name,
    value,
    required,
    placeholder,
    spellcheck: false,
    autocomplete: "off",
    "aria-describedby": described.filter(Boolean).join(" ") || undefined,
    "aria-invalid": fault === undefined ? undefined : ("true" as const),
    // Inside a dialog the browser puts the focus on what asks for it.
    autofocus: props.autoFocus,
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {lines === undefined ? (
        // The types tie roles to each single type of input; this has no role.
        <input
          {...shared}
          type={type as "text"}
          onInput={(event) => props.onInput(event.currentTarget.value)}
        />
      ) : (
        <textarea {...shared} rows={lines} onInput={(event) => props.onInput(event.currentTarget.value)} />
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      {fault !== undefined && (
        <p id={`${id}-fault`} class="fault">
          {label} {fault}.
        </p>
      )}
    </div>
  );
}
