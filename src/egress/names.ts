import { METADATA_NAMES } from "./metadata.ts";

/** `name`, or every name below it where `wildcard` is set. */
export interface NamePattern {
  readonly text: string;
  readonly name: string;
  readonly wildcard: boolean;
}

export type NameProblem = "host_malformed" | "name_metadata" | "name_internal" | "name_single_label";

/** Names, with all names below them, that only mean something inside a host, a cluster or a site. */
export const INTERNAL_SUFFIXES: readonly string[] = [
  "localhost", // RFC 6761
  "localdomain",
  "local", // RFC 6762; holds cluster.local
  "internal", // reserved by ICANN for private use; holds the cloud providers' zones
  "svc", // Kubernetes services through the search list
  "home.arpa", // RFC 8375
  "in-addr.arpa",
  "ip6.arpa",
  "intranet",
  "private",
  "corp",
  "home",
  "lan",
  "onion", // RFC 7686
  "alt", // RFC 9476
  "test", // RFC 6761
  "invalid", // RFC 6761
];

const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** @returns undefined where the text is neither a host name nor `*.` and a host name */
export function compileNamePattern(text: string): NamePattern | undefined {
  const lower = text.toLowerCase().replace(/\.$/, "");
  const wildcard = lower.startsWith("*.");
  const name = wildcard ? lower.slice(2) : lower;
  return isHostName(name) ? { text, name, wildcard } : undefined;
}

export function matchesName(name: string, patterns: readonly NamePattern[]): boolean {
  return patterns.some((pattern) =>
    pattern.wildcard ? name.endsWith(`.${pattern.name}`) : name === pattern.name,
  );
}

/**
 * The name arm: what is wrong with a name before anybody asks DNS. What DNS answers is judged all the same; this arm
 * keeps the question itself from leaving, and from being completed by a search list.
 * @param name lower case, ASCII, without a trailing dot
 */
export function nameProblem(name: string, allowed: readonly NamePattern[]): NameProblem | undefined {
  if (!isHostName(name)) return "host_malformed";
  if (METADATA_NAMES.has(name)) return "name_metadata";
  if (matchesName(name, allowed)) return undefined;
  if (INTERNAL_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`)))
    return "name_internal";
  return name.includes(".") ? undefined : "name_single_label";
}

function isHostName(name: string): boolean {
  return name.length > 0 && name.length <= 253 && name.split(".").every((label) => LABEL.test(label));
}
