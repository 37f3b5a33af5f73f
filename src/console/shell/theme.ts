/** Light or dark: as the system says, or as the operator chose for this browser. */
import { useSyncExternal } from "../api/store.ts";

export type Theme = "system" | "light" | "dark";

const KEY = "baton.theme";
const THEMES: readonly Theme[] = ["system", "light", "dark"];
const listeners = new Set<() => void>();
let theme: Theme = "system";

export function startTheme(): void {
  try {
    theme = THEMES.find((each) => each === localStorage.getItem(KEY)) ?? "system";
  } catch {
    // A browser that keeps nothing follows the system.
  }
  show();
}

export const useTheme = (): Theme => useSyncExternal(subscribe, currentTheme);

/** From one to the next: system, light, dark. */
export function nextTheme(): void {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It holds until the page is closed.
  }
  show();
  for (const listener of listeners) listener();
}

const currentTheme = (): Theme => theme;

function show(): void {
  document.documentElement.dataset.theme = theme;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
