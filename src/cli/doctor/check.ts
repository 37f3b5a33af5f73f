import type { Environment } from "../../config/environment.ts";
import type { ReadConfig } from "../../config/load.ts";
import type { Config } from "../../config/schema.ts";
import type { Finding } from "./finding.ts";
import type { RedisView } from "./redis-view.ts";

/** What a check may look at. Nothing that it does may change anything. */
export interface Patient {
  /** The sections of the configuration that are good; the others have their defaults. */
  readonly config: Config;
  readonly read: ReadConfig;
  readonly environment: Environment;
  /** Asked once, however many checks want to know. */
  redis(): Promise<RedisView>;
}

export interface Check {
  readonly name: string;
  /** What it looks at, for the documentation. */
  readonly about: string;
  /** Sections of the configuration without which it says nothing; it is skipped where one of them has faults. */
  readonly needs: readonly (keyof Config)[];
  /** At most, in milliseconds. Default 5000. */
  readonly limitMs?: number;
  /** `signal` aborts when nobody waits for the answer any more. */
  run(patient: Patient, signal: AbortSignal): Promise<readonly Finding[]> | readonly Finding[];
}
