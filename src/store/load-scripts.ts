import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { TASK_STATE_OF, TRANSITIONS } from "../domain/todo.ts";
import { type Library, link, readLibrary } from "./lua-linker.ts";
import { TODO_FIELDS } from "./todo-fields.ts";

/**
 * How long a message id is remembered after its task ended, so that a late retry finds the task instead of starting
 * it again (A2A-44, Q11): 24 hours.
 */
export const DEDUP_MS = 24 * 60 * 60 * 1000;

/** A script as Redis gets it. */
export interface Script {
  readonly name: string;
  readonly text: string;
  /** SHA-1 of the text, by which Redis knows it. */
  readonly sha: string;
  /** Names of the arguments that it declares. */
  readonly args: readonly string[];
}

const folder = new URL("./scripts/", import.meta.url);

function luaTable(entries: Readonly<Record<string, string | number>>): string {
  return `{${Object.entries(entries).map(([key, value]) => `[${JSON.stringify(key)}]=${JSON.stringify(value)}`)}}`;
}

function luaList(items: readonly string[]): string {
  return `{${items.map((item) => JSON.stringify(item))}}`;
}

/** Where an event leads from a state, by `<event> <state>`: Redis makes the table anew at each call, and one is cheaper than many. */
const STEPS = Object.fromEntries(
  Object.entries(TRANSITIONS).flatMap(([event, row]) =>
    Object.entries(row).map(([from, to]) => [`${event} ${from}`, to]),
  ),
);

/** What every script may rely on; the transition table has its one source in domain/todo.ts. */
const CONSTANTS = readLibrary(
  "constants",
  [
    `local TRANSITIONS = ${luaTable(STEPS)}`,
    `local TASK_STATE = ${luaTable(TASK_STATE_OF)}`,
    `local TODO_FIELDS = ${luaList(TODO_FIELDS)}`,
    `local DEDUP_MS = ${DEDUP_MS}`,
  ].join("\n"),
);

const libraries: ReadonlyMap<string, Library> = new Map(
  readdirSync(new URL("lib/", folder)).map((file) => [
    file.slice(0, -".lua".length),
    readLibrary(`lib/${file}`, readFileSync(new URL(`lib/${file}`, folder), "utf8")),
  ]),
);

function libraryOf(script: string, name: string): Library {
  const library = libraries.get(name);
  if (library === undefined) throw new Error(`${script}: unknown library ${name}`);
  return library;
}

function directive(source: string, name: string): readonly string[] {
  const line = new RegExp(`^-- @${name} (.*)$`, "m").exec(source)?.[1] ?? "";
  return line.split(" ").filter((word) => word !== "");
}

/** ARGV[1] of every script is the `traceparent` of what runs it, or empty; the named arguments follow. */
function loadScript(name: string): Script {
  const file = `${name}.lua`;
  const source = readFileSync(new URL(file, folder), "utf8");
  const args = directive(source, "args");
  const named = args.map((arg, index) => `${arg}=ARGV[${index + 2}]`).join(",");
  const given = ["local TRACE = ARGV[1]", `local A = {${named}}`, `local ARGS = ${args.length + 1}`];
  const included = directive(source, "include").map((library) => libraryOf(file, library));
  const text = link(file, source, [CONSTANTS, readLibrary(file, given.join("\n")), ...included]);
  const sha = createHash("sha1").update(text).digest("hex");
  return { name, text, sha, args };
}

/** Every script of the store, by its name. */
export function loadScripts(): readonly Script[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".lua"))
    .map((file) => loadScript(file.slice(0, -".lua".length)));
}
