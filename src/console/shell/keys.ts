/** The keyboard: what each key does, wherever the focus is and no field has it. */
import { useEffect } from "preact/hooks";
import { address, go } from "../routing/place.ts";
import { PAGES } from "./pages.ts";

/** Longest pause between `g` and the key that follows, in milliseconds. */
const CHORD_MS = 1500;

export function useKeys(showHelp: () => void): void {
  useEffect(() => {
    let chordUntil = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
      const wasChord = Date.now() < chordUntil;
      chordUntil = 0;
      if (wasChord) {
        const page = PAGES.find(({ key }) => key === event.key);
        if (page === undefined) return;
        event.preventDefault();
        go(address(page.path));
        return;
      }
      switch (event.key) {
        case "g":
          chordUntil = Date.now() + CHORD_MS;
          return;
        case "/": {
          const filter = document.querySelector<HTMLInputElement>("[data-filter]");
          if (filter === null) return;
          event.preventDefault();
          filter.focus();
          filter.select();
          return;
        }
        case "j":
        case "k":
          moveRow(event.key === "j" ? 1 : -1);
          return;
        case "?":
          event.preventDefault();
          showHelp();
          return;
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [showHelp]);
}

function moveRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  const { activeElement } = document;
  const current = activeElement instanceof HTMLElement ? rows.indexOf(activeElement) : -1;
  const next = current === -1 ? (by === 1 ? 0 : rows.length - 1) : current + by;
  rows[next]?.focus();
  rows[next]?.scrollIntoView({ block: "nearest" });
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // A check box takes no letters.
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return (
    target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable
  );
}
