import type { ComponentChildren } from "preact";

export type Tone = "good" | "busy" | "waiting" | "bad" | "idle";

/** A state: its word carries the meaning, its colour helps the eye. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}
