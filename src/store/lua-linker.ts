/**
 * Puts a script together with the definitions of its libraries that it reaches, and no others: Redis runs a script from its
 * first line at each call, so every function and table above it is made anew each time, whether it is used or not.
 */

/** One statement of a library that does nothing but define names. */
interface Definition {
  /** As `library:line`, for errors. */
  readonly place: string;
  readonly text: string;
  /** What it declares or, for a name declared further up, gives its value. */
  readonly defines: readonly string[];
  /** Whether the names are new, and not those of an earlier declaration. */
  readonly declares: boolean;
  /** Every name that stands in it; some may be its own locals. */
  readonly names: ReadonlySet<string>;
}

export interface Library {
  readonly definitions: readonly Definition[];
}

interface Token {
  readonly text: string;
  readonly at: number;
  readonly kind: "name" | "field" | "other";
}

const TOKEN =
  /(?<skip>\s+|--[^\n]*)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?<word>[A-Za-z_]\w*)|\.{1,3}|\d\w*|[\s\S]/gy;
const LONG_BRACKET = /^(?:--)?\[=*\[/;

/** Lua in tokens, without comments and white space. */
function tokensOf(place: string, source: string): Token[] {
  const tokens: Token[] = [];
  for (const match of source.matchAll(TOKEN)) {
    const [text] = match;
    if (LONG_BRACKET.test(source.slice(match.index, match.index + 32)))
      throw new Error(`${at(place, source, match.index)}: long brackets are not understood`);
    if (text === '"' || text === "'")
      throw new Error(`${at(place, source, match.index)}: a text without its end`);
    if (match.groups?.skip !== undefined) continue;
    const before = tokens.at(-1)?.text;
    const isField = before === "." || before === ":";
    const kind = match.groups?.word === undefined ? "other" : isField ? "field" : "name";
    tokens.push({ text, at: match.index, kind });
  }
  return tokens;
}

function at(place: string, source: string, index: number): string {
  return `${place}:${source.slice(0, index).split("\n").length}`;
}

/** `for` and `while` open with their `do`. */
const OPENS = new Set(["function", "if", "do", "repeat", "(", "{", "["]);
const CLOSES = new Set(["end", "until", ")", "}", "]"]);

/** Statements begin in the first column, and nothing else stands there but what closes one. */
function statementsOf(place: string, source: string): Token[][] {
  const statements: Token[][] = [];
  let depth = 0;
  for (const token of tokensOf(place, source)) {
    const word = token.kind === "field" ? "" : token.text;
    const startsLine = token.at === 0 || source[token.at - 1] === "\n";
    if (startsLine && !CLOSES.has(word)) {
      if (depth !== 0) throw new Error(`${at(place, source, token.at)}: stands inside of a statement`);
      statements.push([]);
    }
    statements.at(-1)?.push(token);
    if (OPENS.has(word)) depth += 1;
    if (CLOSES.has(word)) depth -= 1;
    if (depth < 0) throw new Error(`${at(place, source, token.at)}: closes nothing`);
  }
  if (depth !== 0) throw new Error(`${place}: ends inside of a statement`);
  return statements;
}

/** The names on the left of a definition; undefined for a statement that does something else. */
function definedBy(tokens: readonly Token[]): { names: string[]; declares: boolean } | undefined {
  const words = tokens.map(({ text }) => text);
  const declares = words[0] === "local";
  if (declares && words[1] === "function") return { names: words.slice(2, 3), declares };
  const left = words.slice(declares ? 1 : 0);
  const names: string[] = [];
  for (let i = 0; ; i += 2) {
    if (!/^[A-Za-z_]\w*$/.test(left[i] ?? "")) return undefined;
    names.push(left[i] ?? "");
    const next = left[i + 1];
    if (next === ",") continue;
    return next === "=" || (next === undefined && declares) ? { names, declares } : undefined;
  }
}

/**
 * Reads a library: statements that define local names, each beginning in the first column and with nothing else there.
 * Anything else is an error, since it would be left out or taken along without being asked for.
 */
export function readLibrary(place: string, source: string): Library {
  const declared = new Set<string>();
  const definitions = statementsOf(place, source).map((tokens): Definition => {
    const first = tokens[0]?.at ?? 0;
    const last = tokens.at(-1);
    const where = at(place, source, first);
    const found = definedBy(tokens);
    if (found === undefined) throw new Error(`${where}: not a definition`);
    for (const name of found.names) {
      if (found.declares === declared.has(name))
        throw new Error(`${where}: ${name} is ${found.declares ? "declared twice" : "not declared"}`);
      declared.add(name);
    }
    const text = source.slice(first, (last?.at ?? 0) + (last?.text.length ?? 0));
    return { place: where, text, defines: found.names, declares: found.declares, names: namesIn(tokens) };
  });
  return { definitions };
}

function namesIn(tokens: readonly Token[]): ReadonlySet<string> {
  return new Set(tokens.filter(({ kind }) => kind === "name").map(({ text }) => text));
}

/**
 * The script below those definitions of the libraries that it reaches, in their order. A name counts as used wherever it
 * stands, so now and then something is kept for a local of the same name; nothing is ever missing.
 */
export function link(place: string, script: string, libraries: readonly Library[]): string {
  const definitions = libraries.flatMap((library) => library.definitions);
  const declaredAt = new Map<string, number>();
  const givenBy = new Map<string, number[]>();
  for (const [index, { declares, defines, place: where }] of definitions.entries()) {
    for (const name of defines) {
      if (declares && declaredAt.has(name)) throw new Error(`${where}: ${name} stands in another library`);
      if (declares) declaredAt.set(name, index);
      givenBy.set(name, [...(givenBy.get(name) ?? []), index]);
    }
  }

  const kept = new Set<number>();
  const reach = (names: ReadonlySet<string>, from: number) => {
    for (const name of names) {
      // What is declared further down is another name to the code above it.
      if ((declaredAt.get(name) ?? from) >= from) continue;
      for (const index of givenBy.get(name) ?? []) {
        const definition = definitions[index];
        if (definition === undefined || kept.has(index)) continue;
        kept.add(index);
        reach(definition.names, index);
        reach(new Set(definition.defines), definitions.length);
      }
    }
  };
  reach(namesIn(tokensOf(place, script)), definitions.length);
  const used = definitions.filter((_, index) => kept.has(index)).map(({ text }) => text);
  return [...used, script].join("\n");
}
