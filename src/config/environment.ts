/** The environment variables of Baton: those that set a key of the configuration, and those that commands read. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface KeyVariable {
  readonly name: string;
  /** The key that it sets. */
  readonly path: readonly string[];
  readonly numeric?: boolean;
  /** Its value is a list with commas. */
  readonly list?: boolean;
}

/** Variables that set a key, so that secrets need not stand in a file. `<name>_FILE` names a file with the value. */
export const KEY_VARIABLES: readonly KeyVariable[] = [
  { name: "BATON_REDIS_URL", path: ["redis", "url"] },
  { name: "BATON_REDIS_PASSWORD", path: ["redis", "password"] },
  { name: "BATON_ADMIN_TOKEN", path: ["admin", "token"] },
  { name: "BATON_SECRET_KEY", path: ["push", "secretKey"] },
  { name: "BATON_PUBLIC_URL", path: ["publicUrl"] },
  { name: "BATON_HOST", path: ["listen", "host"] },
  { name: "BATON_PORT", path: ["listen", "port"], numeric: true },
  { name: "BATON_ADMIN_PORT", path: ["admin", "port"], numeric: true },
  { name: "BATON_ROLES", path: ["roles"], list: true },
  { name: "BATON_DATA_DIR", path: ["dataDir"] },
  { name: "BATON_WORKERS", path: ["workers"], numeric: true },
];

/** Variables that commands read themselves, and what each says. */
export const COMMAND_VARIABLES: Readonly<Record<string, string>> = {
  BATON_CONFIG: "configuration file",
  BATON_REDIS_SERVER: "path of the server program of the embedded Redis",
  BATON_URL: "address of the gateway",
  BATON_CREDENTIAL: "endpoint credential",
  BATON_ADMIN_URL: "address of the admin port",
  BATON_PUSH_TOKEN: "token that `baton push receiver` expects",
};

/** Variables that `baton worker --exec` sets for the command that it runs. */
export const WORK_VARIABLES: readonly string[] = [
  "BATON_TASK_ID",
  "BATON_CONTEXT_ID",
  "BATON_AGENT",
  "BATON_QUEUE",
  "BATON_ATTEMPT",
];
