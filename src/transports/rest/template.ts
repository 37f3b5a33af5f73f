/** Path templates of `google.api.http` rules, such as `/{tenant}/tasks/{id=*}:cancel`. */

type Matcher = { readonly kind: "literal"; readonly text: string } | { readonly kind: "one" | "rest" };

interface Variable {
  /** Field path as the rule writes it: proto names with dots. */
  readonly field: string;
  /** The matchers that it covers: from `start` up to, not including, `end`. */
  readonly start: number;
  readonly end: number;
}

export interface Template {
  readonly source: string;
  readonly matchers: readonly Matcher[];
  readonly variables: readonly Variable[];
  /** What follows the last colon; absent: nothing. */
  readonly verb?: string;
}

/** A raw value of a path for a field. */
export interface Capture {
  readonly field: string;
  /** Segments as they came, not decoded. */
  readonly raw: readonly string[];
  /** The variable takes any number of segments (`**`). */
  readonly many: boolean;
}

/** Compiles a template. Throws an Error for one that does not follow the grammar of `google/api/http.proto`. */
export function compileTemplate(source: string): Template {
  const fail = (why: string): never => {
    throw new Error(`HTTP rule "${source}": ${why}`);
  };
  if (!source.startsWith("/")) fail("a path starts with /");
  const colon = source.lastIndexOf(":");
  const verb =
    colon > source.lastIndexOf("}") && colon > source.lastIndexOf("/") ? source.slice(colon + 1) : "";
  const path = verb === "" ? source.slice(1) : source.slice(1, colon);
  const matchers: Matcher[] = [];
  const variables: Variable[] = [];
  for (const part of path.match(/\{[^}]*\}|[^/]+/g) ?? []) {
    const start = matchers.length;
    const [, field, pattern = "*"] = /^\{([\w.]+)(?:=(.+))?\}$/.exec(part) ?? [];
    if (field === undefined && /[{}]/.test(part)) fail(`"${part}" is no variable`);
    for (const piece of (field === undefined ? part : pattern).split("/")) matchers.push(matcherOf(piece));
    if (field !== undefined) variables.push({ field, start, end: matchers.length });
  }
  const rest = matchers.findIndex(({ kind }) => kind === "rest");
  if (rest >= 0 && rest !== matchers.length - 1) fail("** stands at the end only");
  return { source, matchers, variables, ...(verb === "" ? {} : { verb }) };
}

function matcherOf(piece: string): Matcher {
  if (piece === "*") return { kind: "one" };
  return piece === "**" ? { kind: "rest" } : { kind: "literal", text: piece };
}

/** Whether paths of so many segments can match. */
export function canHold({ matchers }: Template, segments: number): boolean {
  return matchers.at(-1)?.kind === "rest" ? segments >= matchers.length - 1 : segments === matchers.length;
}

/**
 * Matches raw segments, without their verb. A single segment is never empty, so `/tasks/` and `/tasks/:cancel` have no
 * id (A2A-123).
 */
export function matchTemplate(template: Template, segments: readonly string[]): Capture[] | undefined {
  const { matchers, variables } = template;
  const open = matchers.at(-1)?.kind === "rest";
  const fixed = open ? matchers.length - 1 : matchers.length;
  if (open ? segments.length < fixed : segments.length !== fixed) return undefined;
  for (let i = 0; i < fixed; i += 1) {
    const matcher = matchers[i];
    const segment = segments[i];
    if (segment === "" || (matcher?.kind === "literal" && matcher.text !== segment)) return undefined;
  }
  return variables.map(({ field, start, end }) => ({
    field,
    raw: segments.slice(start, open && end === matchers.length ? undefined : end),
    many: open && end === matchers.length,
  }));
}

/** Orders templates so that of two that match the more specific comes first: literals before variables. */
export function compareTemplates(a: Template, b: Template): number {
  const length = Math.max(a.matchers.length, b.matchers.length);
  for (let i = 0; i < length; i += 1) {
    const difference = rank(a.matchers[i]) - rank(b.matchers[i]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function rank(matcher: Matcher | undefined): number {
  if (matcher === undefined) return 3;
  return { literal: 0, one: 1, rest: 2 }[matcher.kind];
}
