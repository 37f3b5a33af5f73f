/** Requirement numbers in the names of tests. */

const RANGE = /\b([A-Z][A-Z0-9]*)-(\d+) to (?:\1-)?(\d+)\b/g;
const SINGLE = /\b([A-Z][A-Z0-9]*)-(\d+)\b/g;

/** The numbers that a name cites, such as `A2A-61`; `A2A-82 to A2A-89` cites all eight. */
export function citationsIn(name: string): Set<string> {
  const found = new Set<string>();
  for (const [, family, first, last] of name.matchAll(RANGE)) {
    for (let number = Number(first); number <= Number(last); number += 1) found.add(`${family}-${number}`);
  }
  for (const [, family, number] of name.matchAll(SINGLE)) found.add(`${family}-${number}`);
  return found;
}

/** One family of requirements, numbered without gaps. */
export interface Family {
  readonly title: string;
  readonly first: number;
  readonly last: number;
  /** Numbers that bind somebody else, with who that is. */
  readonly notServer: Readonly<Record<string, string>>;
}

export type Families = Readonly<Record<string, Family>>;

export interface Coverage {
  /** Names of the tests that cite a number, by number. */
  readonly covered: Readonly<Record<string, readonly string[]>>;
  /** Numbers that bind a server and that no test cites. */
  readonly missing: readonly string[];
  /** Numbers of known families that no requirement has: slips of the pen. */
  readonly unknown: readonly string[];
}

/** Which requirements the named tests cite. */
export function coverageOf(families: Families, names: Iterable<string>): Coverage {
  const citing = new Map<string, string[]>();
  for (const name of names) {
    for (const id of citationsIn(name)) citing.set(id, [...(citing.get(id) ?? []), name]);
  }
  const covered: Record<string, readonly string[]> = {};
  const missing: string[] = [];
  const known = new Set<string>();
  for (const [prefix, { first, last, notServer }] of Object.entries(families)) {
    for (let number = first; number <= last; number += 1) {
      const id = `${prefix}-${number}`;
      known.add(id);
      const tests = citing.get(id);
      if (tests !== undefined) covered[id] = tests;
      else if (!(String(number) in notServer)) missing.push(id);
    }
  }
  const unknown = [...citing.keys()].filter((id) => (id.split("-")[0] ?? "") in families && !known.has(id));
  return { covered, missing, unknown };
}
