import { type Capture, canHold, compareTemplates, matchTemplate, type Template } from "./template.ts";

/** What the router needs to know of a route. */
export interface Routable {
  /** HTTP method, in upper case. */
  readonly httpMethod: string;
  readonly template: Template;
}

export interface RouteMatch<R extends Routable> {
  readonly route: R;
  readonly captures: readonly Capture[];
}

/** All that a path can mean; never empty. */
export interface PathMatch<R extends Routable> {
  /** By HTTP method, the most specific route of each. */
  readonly byMethod: ReadonlyMap<string, RouteMatch<R>>;
}

/**
 * First path segments that routes spell out (`tasks`, `message:send`). No tenant can have such a name: the path would
 * mean two things (a2a.md 2.1).
 */
export function fixedFirstSegments(templates: Iterable<Template>): Set<string> {
  const names = new Set<string>();
  for (const { matchers, verb } of templates) {
    const [first] = matchers;
    if (first?.kind !== "literal") continue;
    names.add(matchers.length === 1 && verb !== undefined ? `${first.text}:${verb}` : first.text);
  }
  return names;
}

const MAX_INDEXED = 8;

/**
 * Finds routes by raw path: percent-encoded characters are data and never structure, so `%2F` does not split a segment
 * and `%3A` does not start a verb.
 */
export class Router<R extends Routable> {
  /** In the order of matching; by verb and number of segments, as far as they have been asked for. */
  readonly #routes: readonly R[];
  readonly #candidates = new Map<string | undefined, (readonly R[])[]>();
  readonly #verbs: ReadonlySet<string>;
  readonly #reserved: ReadonlySet<string>;
  /** Of one request more than one asks, with the same segments. */
  #last: { readonly segments: readonly string[]; readonly match: PathMatch<R> | undefined } | undefined;

  /** `reserved`: first segments that no variable takes, besides those that routes spell out. */
  constructor(routes: readonly R[], reserved: ReadonlySet<string> = new Set()) {
    const templates = routes.map(({ template }) => template);
    this.#routes = routes.toSorted((a, b) => compareTemplates(a.template, b.template));
    this.#verbs = new Set(templates.flatMap(({ verb }) => verb ?? []));
    this.#reserved = new Set([...fixedFirstSegments(templates), ...reserved]);
  }

  match(segments: readonly string[]): PathMatch<R> | undefined {
    if (this.#last?.segments !== segments) this.#last = { segments, match: this.#find(segments) };
    return this.#last.match;
  }

  #find(segments: readonly string[]): PathMatch<R> | undefined {
    const { verb, path } = this.#split(segments);
    const candidates = this.#candidatesOf(verb, path.length);
    if (candidates.length === 0) return undefined;
    const byMethod = new Map<string, RouteMatch<R>>();
    const [first] = segments;
    const isReserved = first !== undefined && this.#reserved.has(first);
    for (const route of candidates) {
      if (byMethod.has(route.httpMethod)) continue;
      if (isReserved && route.template.matchers[0]?.kind !== "literal") continue;
      const captures = matchTemplate(route.template, path);
      if (captures !== undefined) byMethod.set(route.httpMethod, { route, captures });
    }
    return byMethod.size === 0 ? undefined : { byMethod };
  }

  #candidatesOf(verb: string | undefined, count: number): readonly R[] {
    let byCount = this.#candidates.get(verb);
    if (byCount === undefined) {
      // Longer paths are rare and may be of any length, so what is kept for them is one list.
      byCount = Array.from({ length: MAX_INDEXED + 1 }, (_, segments) =>
        this.#routes.filter(
          ({ template }) =>
            template.verb === verb && (segments === MAX_INDEXED || canHold(template, segments)),
        ),
      );
      this.#candidates.set(verb, byCount);
    }
    return byCount[Math.min(count, MAX_INDEXED)] ?? [];
  }

  /**
   * Cuts off a verb that some route has. Such a path is never taken by a route without a verb: `/tasks/x:subscribe` is no
   * task id (FR-60). Another colon belongs to the id, since not every client encodes it.
   */
  #split(segments: readonly string[]): { readonly path: readonly string[]; readonly verb?: string } {
    const last = segments.at(-1);
    const colon = last?.lastIndexOf(":") ?? -1;
    if (last === undefined || colon < 0) return { path: segments };
    const verb = last.slice(colon + 1);
    return this.#verbs.has(verb)
      ? { path: [...segments.slice(0, -1), last.slice(0, colon)], verb }
      : { path: segments };
  }
}
