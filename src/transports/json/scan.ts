/** Where a value stands in a JSON text: from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What `JSON.parse` forgets about a text. */
export interface JsonScan {
  /** Path of the first repeated member, such as `params.message.parts[1].text`; absent: every name is unique. */
  readonly duplicate?: string;
  /** Deepest nesting of objects and arrays; a scalar document has 0. */
  readonly depth: number;
  /** The values of the outermost object, as they are written; the last one where a name is repeated. */
  readonly members: ReadonlyMap<string, Span>;
}

interface Level {
  /** Member names seen so far; absent: an array. */
  readonly names?: Set<string>;
  /** The member or position that is being read. */
  at: string;
  index: number;
}

/**
 * Reads a text that `JSON.parse` has accepted for what that function loses: repeated names (the last one silently wins
 * there, ProtoJSON refuses them), the nesting depth, and the exact spelling of numbers. One pass, no recursion.
 */
export function scanJson(text: string): JsonScan {
  const members = new Map<string, Span>();
  const levels: Level[] = [];
  let duplicate: string | undefined;
  let depth = 0;
  let expectName = false;
  let memberStart = -1;
  let lastTokenEnd = 0;

  const closeMember = (): void => {
    const top = levels.length === 1 ? levels[0] : undefined;
    if (top?.names !== undefined && memberStart >= 0) {
      members.set(top.at, { start: memberStart, end: lastTokenEnd });
    }
    if (levels.length === 1) memberStart = -1;
  };
  const beginValue = (at: number): void => {
    if (levels.length === 1 && memberStart < 0) memberStart = at;
  };

  for (let i = 0; i < text.length; ) {
    const code = text.charCodeAt(i);
    switch (code) {
      case 0x7b: // {
      case 0x5b: // [
        beginValue(i);
        levels.push(code === 0x7b ? { names: new Set(), at: "", index: -1 } : { at: "", index: 0 });
        if (levels.length > depth) depth = levels.length;
        expectName = code === 0x7b;
        i += 1;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        closeMember();
        levels.pop();
        expectName = false;
        i += 1;
        lastTokenEnd = i;
        break;
      case 0x2c: {
        closeMember();
        const level = levels.at(-1);
        if (level !== undefined) level.index += 1;
        expectName = level?.names !== undefined;
        i += 1;
        break;
      }
      case 0x3a: // :
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        i += 1;
        break;
      case 0x22: {
        const end = endOfString(text, i);
        const level = levels.at(-1);
        if (expectName && level?.names !== undefined) {
          const name = nameOf(text, i, end);
          level.at = name;
          if (level.names.has(name)) duplicate ??= pathOf(levels);
          level.names.add(name);
          expectName = false;
        } else {
          beginValue(i);
          lastTokenEnd = end;
        }
        i = end;
        break;
      }
      default: {
        beginValue(i);
        while (i < text.length && !isDelimiter(text.charCodeAt(i))) i += 1;
        lastTokenEnd = i;
      }
    }
  }
  return { depth, members, ...(duplicate === undefined ? {} : { duplicate }) };
}

/** From quote to quote, and not from character to character: most of a long body is text without any. */
function endOfString(text: string, open: number): number {
  let quote = text.indexOf('"', open + 1);
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote + 1;
}

/** A character is escaped by an odd number of backslashes before it. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === 0x5c) before -= 1;
  return (at - before) % 2 === 0;
}

/** Escapes are resolved, so that a name and its escaped spelling are one name. */
function nameOf(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes("\\") ? String(JSON.parse(text.slice(start, end))) : raw;
}

function isDelimiter(code: number): boolean {
  return code === 0x2c || code === 0x7d || code === 0x5d || code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

function pathOf(levels: readonly Level[]): string {
  let path = "";
  for (const level of levels) {
    if (level.names === undefined) path += `[${level.index}]`;
    else path += path === "" ? level.at : `.${level.at}`;
  }
  return path;
}
