/**
 * What may stand in a log record. A field is logged because it is listed here, never because somebody passed it on:
 * a record of a request, a config or a whole error of a library cannot bring its secrets along (SB-56).
 */

/** Text and numbers that are logged as they are, but for credentials inside (see {@link scrub}). */
const PLAIN = new Set([
  "adminUrl",
  "agent",
  "attempt",
  "config",
  "cut",
  "endpoint",
  "forMs",
  "host",
  "kind",
  "limit",
  "method",
  "ms",
  "pid",
  "probes",
  "queue",
  "reason",
  "requestId",
  "roles",
  "seq",
  "service",
  "signal",
  "status",
  "stream",
  "task",
  "trace",
  "transport",
  "url",
  "version",
  "waitMs",
  "when",
  "worker",
]);

const MAX_TEXT = 2000;
const MAX_CAUSES = 4;

/** Credentials of Baton, bearer and basic credentials, passwords in addresses and sealing keys given by name. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/\bsb[a-z]_[A-Za-z0-9_-]+/g, "[credential]"],
  [/\b(bearer|basic|digest)\s+[A-Za-z0-9._~+/=-]+/gi, "$1 [credential]"],
  [/\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g, "[token]"],
  [/([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@]*@/gi, "$1[credential]@"],
  [
    /\b(token|secret|password|passwd|api[-_]?key|authorization)(["']?\s*[=:]\s*["']?)[^\s"',;&]+/gi,
    "$1$2[hidden]",
  ],
];

/** Something that every text with a secret has, so that the many without one cost a single look. */
const SUSPECT = /sb[a-z]_|bearer|basic|digest|eyj|@|token|secret|passw|api|authorization/i;

/** The text without anything that looks like a credential, and not longer than a log line should be. */
export function scrub(text: string): string {
  // Shortened last: half a credential may not look like one.
  if (text.length <= MAX_TEXT && !SUSPECT.test(text)) return text;
  const clean = SECRETS.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), text);
  return clean.length > MAX_TEXT ? `${clean.slice(0, MAX_TEXT)}…` : clean;
}

/** The listed fields of a record; everything else is left out. */
export function logFields(fields: object): Record<string, unknown> {
  const safe: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (PLAIN.has(name)) {
      const plain = plainValue(value);
      if (plain !== undefined) safe[name] = plain;
    } else if (name === "err") safe.err = errorFields(value);
    else if (name === "egress") safe.egress = egressFields(value);
  }
  return safe;
}

function plainValue(value: unknown): string | number | boolean | undefined {
  if (typeof value === "string") return scrub(value);
  return typeof value === "number" || typeof value === "boolean" ? value : undefined;
}

interface ErrorFields {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: ErrorFields;
}

/** Of an error its type, message, code, stack and causes: what else libraries hang on it may hold a request. */
function errorFields(thrown: unknown, depth = 0): ErrorFields {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: scrub(String(thrown)) };
  const { code } = thrown as { code?: unknown };
  return {
    type: thrown.name,
    message: scrub(thrown.message),
    ...(typeof code === "string" || typeof code === "number" ? { code: scrub(String(code)) } : {}),
    ...(thrown.stack === undefined ? {} : { stack: scrub(thrown.stack) }),
    ...(thrown.cause === undefined || depth >= MAX_CAUSES
      ? {}
      : { cause: errorFields(thrown.cause, depth + 1) }),
  };
}

const EGRESS = ["allowed", "arm", "reason", "host", "port", "range"] as const;
const VERDICT = ["address", "allowed", "reason", "range", "allowedBy"] as const;

/** A decision of the egress guard, for operators: with the addresses that it judged. */
function egressFields(value: unknown): object {
  const decision = pick(value, EGRESS);
  const { addresses } = (value ?? {}) as { addresses?: unknown };
  if (!Array.isArray(addresses)) return decision;
  return { ...decision, addresses: addresses.slice(0, 16).map((verdict) => pick(verdict, VERDICT)) };
}

function pick(value: unknown, names: readonly string[]): Record<string, unknown> {
  const source = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  return Object.fromEntries(
    names.flatMap((name) => {
      const plain = plainValue(source[name]);
      return plain === undefined ? [] : [[name, plain]];
    }),
  );
}
