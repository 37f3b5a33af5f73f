/** Where the operator is: the path below /console and the query, which holds every filter. */
import { useSyncExternal } from "../api/store.ts";

const BASE = "/console";

export interface Place {
  /** Parts of the path below /console, decoded. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

const listeners = new Set<() => void>();
let place = read();

const currentPlace = (): Place => place;

export const usePlace = (): Place => useSyncExternal(subscribe, currentPlace);

/** Address of a page. Empty and undefined values are left out of the query. */
export function address(
  parts: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const path = [BASE, ...parts.map(encodeURIComponent)].join("/");
  const search = new URLSearchParams(
    Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1])),
  ).toString();
  return search === "" ? path : `${path}?${search}`;
}

export function go(href: string, how: "push" | "replace" = "push"): void {
  if (how === "push") history.pushState(null, "", href);
  else history.replaceState(null, "", href);
  changed();
}

/** Changes filters, in place: a filter is no step to go back over. Empty and undefined remove one. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const query = { ...Object.fromEntries(place.query), ...changes };
  go(address(place.parts, query), "replace");
}

/** Follows links into the console without loading the page anew. */
export function startRouting(): void {
  addEventListener("popstate", changed);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || link.target !== "" || link.hasAttribute("download")) return;
    const isOurs = link.origin === location.origin && `${link.pathname}/`.startsWith(`${BASE}/`);
    if (!isOurs || (link.hash !== "" && link.pathname === location.pathname)) return;
    event.preventDefault();
    go(link.href);
  });
}

function changed(): void {
  place = read();
  for (const listener of listeners) listener();
}

function read(): Place {
  const parts = location.pathname
    .slice(BASE.length)
    .split("/")
    .filter((part) => part !== "")
    .map(decoded);
  return { parts, query: new URLSearchParams(location.search) };
}

/** An address that was typed may hold what is no encoding. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
