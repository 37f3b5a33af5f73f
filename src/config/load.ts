import { existsSync } from "node:fs";
import { z } from "zod";
import { type Environment, KEY_VARIABLES, type KeyVariable } from "./environment.ts";
import { otelSettings } from "./otel-environment.ts";
import { readDocument, readText } from "./read-document.ts";
import { type Config, configSchema, RESERVED_AGENT_NAMES } from "./schema.ts";

/** The configuration cannot be used; `problems` has one line per fault, each starting with the key. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];

  constructor(source: string, problems: readonly string[]) {
    super(`${source}: ${problems.join("; ")}`);
    this.problems = problems;
  }
}

/** What a configuration says, as far as it can be used. */
export interface ReadConfig {
  /** The file; undefined where there is none. */
  readonly file: string | undefined;
  /** The configuration; absent where `problems` has any. */
  readonly config?: Config;
  /** One line per fault, each starting with the key. */
  readonly problems: readonly string[];
  /** The document, with the environment laid over it; absent where the file cannot be read. */
  readonly document?: Readonly<Record<string, unknown>>;
  /** The configuration with defaults in place of the sections that have faults; absent where the file cannot be read. */
  readonly usable?: Config;
  /** Keys of the first level that have faults. */
  readonly sections: ReadonlySet<string>;
}

/**
 * Reads `baton.yaml` (or the named file), lays the environment over it and checks the whole. A variable `X_FILE` names
 * a file that holds the value of `X`. Throws {@link ConfigError}.
 */
export function loadConfig(file: string | undefined, environment: Environment): Config {
  const { config, problems, file: path } = readConfig(file, environment);
  if (config === undefined) throw new ConfigError(path ?? "configuration", problems);
  return config;
}

/** The same for whoever wants to know all that is wrong. */
export function readConfig(file: string | undefined, environment: Environment): ReadConfig {
  const path = file ?? environment.BATON_CONFIG ?? (existsSync("baton.yaml") ? "baton.yaml" : undefined);
  const unread: string[] = [];
  let document: Record<string, unknown>;
  try {
    document = path === undefined ? {} : documentOf(path);
    for (const variable of KEY_VARIABLES) {
      const value = readVariable(variable.name, environment, unread);
      if (value !== undefined) assign(document, variable.path, parsed(variable, value));
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { file: path, problems: error.problems, sections: new Set() };
  }
  for (const [key, value] of Object.entries(otelSettings(environment))) {
    assign(document, ["telemetry", "traces", key], value ?? undefined);
  }
  const problems = [...unread];
  const sections = new Set<string>();
  for (;;) {
    const good = Object.fromEntries(Object.entries(document).filter(([key]) => !sections.has(key)));
    const judged = judge(good);
    // What others refer to is gone, so that they contradict nothing any more.
    const telling = !REFERRED.some((section) => sections.has(section));
    if (telling) problems.push(...judged.problems);
    if (judged.config !== undefined) {
      const { config: usable } = judged;
      return {
        file: path,
        ...(problems.length === 0 ? { config: usable } : {}),
        problems,
        document,
        usable,
        sections,
      };
    }
    const before = sections.size;
    for (const section of judged.sections) sections.add(section);
    if (sections.size === before) return { file: path, problems, document, sections };
  }
}

/** Sections that others refer to. */
const REFERRED = ["agents", "identity"];

/** Checks a configuration document. Throws {@link ConfigError}. */
export function parseConfig(document: unknown, source = "configuration"): Config {
  const { config, problems } = judge(document);
  if (config === undefined) throw new ConfigError(source, problems);
  return config;
}

function judge(document: unknown): Pick<ReadConfig, "problems" | "sections"> & { readonly config?: Config } {
  const sections = new Set<string>();
  const problems: string[] = [];
  for (const path of reservedNames(document, [])) {
    sections.add(path[0] ?? "");
    problems.push(`${path.join(".")}: the name is reserved`);
  }
  const result = configSchema.safeParse(document);
  if (!result.success) {
    for (const issue of result.error.issues) {
      const unknown = issue.code === "unrecognized_keys" && issue.path.length === 0 ? issue.keys : [];
      for (const key of unknown.length > 0 ? unknown : [String(issue.path[0] ?? "")]) sections.add(key);
      problems.push(`${issue.path.join(".") || "(root)"}: ${issue.message}`);
    }
    return { problems, sections };
  }
  for (const problem of contradictions(result.data)) {
    sections.add(/^\w+/.exec(problem)?.[0] ?? "");
    problems.push(problem);
  }
  return problems.length > 0 ? { problems, sections } : { config: result.data, problems, sections };
}

/** Keys that JavaScript reads as something else than a key; what stands below them would be lost without a word. */
function reservedNames(value: unknown, path: readonly string[]): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = [...path, key];
    return key === "__proto__" ? [here] : reservedNames(inner, here);
  });
}

/** What each part by itself allows, and all of them together do not. */
function contradictions(config: Config): string[] {
  const names = Object.keys(config.agents);
  const problems: string[] = [];
  for (const reserved of RESERVED_AGENT_NAMES) {
    if (names.includes(reserved)) problems.push(`agents.${reserved}: the name is reserved`);
  }
  if (!names.includes(config.defaultAgent))
    problems.push(`defaultAgent: no agent is called ${config.defaultAgent}`);
  problems.push(...peopleProblems(config));
  const { proxyAgent } = config.openwop;
  if (proxyAgent !== undefined && (config.agents[proxyAgent]?.backend ?? "todo") === "todo")
    problems.push(`openwop.proxyAgent: ${proxyAgent} is no agent on an OpenWOP host`);
  return problems;
}

const RESERVED_PEOPLE: ReadonlySet<string> = new Set(["operator", "system", "admin"]);

/** Half-configured admin people would be a door that looks locked and is not, or the other way round. */
function peopleProblems({ admin, identity }: Config): string[] {
  if (admin.people.length === 0) return [];
  const { audience } = admin;
  if (audience === undefined) return ["admin.audience: is required with admin.people"];
  const problems: string[] = [];
  if (identity.issuers.some(({ audiences }) => audiences.includes(audience))) {
    problems.push("admin.audience: must not be an audience of friend requests");
  }
  for (const [index, person] of admin.people.entries()) {
    // What the holder of the admin credential and the gateway itself are called, as owners and in the audit.
    if (RESERVED_PEOPLE.has(person.name)) problems.push(`admin.people.${index}.name: the name is reserved`);
    if (!identity.issuers.some(({ issuer }) => issuer === person.issuer)) {
      problems.push(`admin.people.${index}.issuer: is not one of identity.issuers`);
    }
  }
  return problems;
}

/** The JSON Schema of the configuration, for editors and the chart. */
export function configJsonSchema(): object {
  return z.toJSONSchema(configSchema, { io: "input" });
}

function documentOf(path: string): Record<string, unknown> {
  try {
    return readDocument(path);
  } catch (error) {
    throw new ConfigError(path, [error instanceof Error ? error.message : "cannot be read"]);
  }
}

function readVariable(variable: string, environment: Environment, unread: string[]): string | undefined {
  const value = environment[variable];
  if (value !== undefined && value !== "") return value;
  const file = environment[`${variable}_FILE`];
  if (file === undefined || file === "") return undefined;
  try {
    return readText(file).trim();
  } catch {
    unread.push(`${variable}_FILE: ${file} cannot be read`);
    return undefined;
  }
}

function parsed({ numeric, list }: KeyVariable, text: string): unknown {
  if (numeric === true) return Number(text);
  return list === true ? text.split(",").map((part) => part.trim()) : text;
}

function assign(document: Record<string, unknown>, keys: readonly string[], value: unknown): void {
  let place = document;
  for (const key of keys.slice(0, -1)) {
    const next = place[key];
    if (typeof next === "object" && next !== null) place = next as Record<string, unknown>;
    else {
      const made: Record<string, unknown> = {};
      place[key] = made;
      place = made;
    }
  }
  const last = keys.at(-1);
  if (last !== undefined) place[last] = value;
}
