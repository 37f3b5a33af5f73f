import { CopyButton } from "./copy.tsx";

/** A line for a shell. */
export function Command({ line }: { readonly line: string }) {
  return (
    <p class="command">
      <code>{line}</code>
      <CopyButton text={line} what="the command" />
    </p>
  );
}
