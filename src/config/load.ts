import { existsSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
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

/** Environment variables that set a key, so that secrets need not stand in a file. */
const ENVIRONMENT: readonly (readonly [variable: string, path: readonly string[]])[] = [
  ["BATON_REDIS_URL", ["redis", "url"]],
  ["BATON_REDIS_PASSWORD", ["redis", "password"]],
  ["BATON_ADMIN_TOKEN", ["admin", "token"]],
  ["BATON_SECRET_KEY", ["push", "secretKey"]],
  ["BATON_PUBLIC_URL", ["publicUrl"]],
  ["BATON_HOST", ["listen", "host"]],
  ["BATON_PORT", ["listen", "port"]],
  ["BATON_ADMIN_PORT", ["admin", "port"]],
  ["BATON_DATA_DIR", ["dataDir"]],
];

const NUMERIC = new Set(["BATON_PORT", "BATON_ADMIN_PORT"]);

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads `baton.yaml` (or the named file), lays the environment over it and checks the whole. A variable `X_FILE` names
 * a file that holds the value of `X`. Throws {@link ConfigError}.
 */
export function loadConfig(file: string | undefined, environment: Environment): Config {
  const path = file ?? environment.BATON_CONFIG ?? (existsSync("baton.yaml") ? "baton.yaml" : undefined);
  const document = path === undefined ? {} : readDocument(path);
  for (const [variable, keys] of ENVIRONMENT) {
    const value = readVariable(variable, environment);
    if (value !== undefined) assign(document, keys, NUMERIC.has(variable) ? Number(value) : value);
  }
  return parseConfig(document, path ?? "configuration");
}

/** Checks a configuration document. Throws {@link ConfigError}. */
export function parseConfig(document: unknown, source = "configuration"): Config {
  const result = configSchema.safeParse(document);
  if (!result.success) {
    throw new ConfigError(
      source,
      result.error.issues.map((issue) => `${issue.path.join(".") || "(root)"}: ${issue.message}`),
    );
  }
  const config = result.data;
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
  if (problems.length > 0) throw new ConfigError(source, problems);
  return config;
}

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

function readDocument(path: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new ConfigError(path, [error instanceof Error ? error.message : "cannot be read"]);
  }
  let document: unknown;
  try {
    document = parse(text);
  } catch (error) {
    throw new ConfigError(path, [`not YAML: ${error instanceof Error ? error.message : String(error)}`]);
  }
  if (document === null || document === undefined) return {};
  if (typeof document !== "object" || Array.isArray(document))
    throw new ConfigError(path, ["(root): not a mapping"]);
  return document as Record<string, unknown>;
}

function readVariable(variable: string, environment: Environment): string | undefined {
  const value = environment[variable];
  if (value !== undefined && value !== "") return value;
  const file = environment[`${variable}_FILE`];
  if (file === undefined || file === "") return undefined;
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    throw new ConfigError(`${variable}_FILE`, [`${file} cannot be read`]);
  }
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
