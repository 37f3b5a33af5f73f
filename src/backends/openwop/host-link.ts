import type { OpenWopConfig } from "../../config/openwop.ts";
import type { ProjectionRules } from "../../domain/openwop/run-projection.ts";
import { OpenWopClient } from "./client/client.ts";
import { HostCredentials } from "./credentials.ts";

/** How long what the host says of itself is believed, and how long until it is asked again after it did not answer. */
const BELIEVE_MS = 5 * 60_000;
const ASK_AGAIN_MS = 5000;

/** One agent's host: its client, its credentials, and what it says of itself. */
export class HostLink {
  readonly agent: string;
  readonly config: OpenWopConfig;
  readonly client: OpenWopClient;
  readonly credentials: HostCredentials;
  #credentialInterrupts = false;
  #askAt = 0;
  #asking: Promise<void> | undefined;

  constructor(
    agent: string,
    config: OpenWopConfig,
    environment: Readonly<Record<string, string | undefined>> = process.env,
  ) {
    this.agent = agent;
    this.config = config;
    this.credentials = new HostCredentials(config, environment);
    this.client = new OpenWopClient({
      url: config.url,
      major: config.major,
      timeoutMs: config.timeoutSeconds * 1000,
      budgetMs: config.budgetSeconds * 1000,
      maxConnections: config.connections,
    });
  }

  /** What the projection of a run depends on. */
  async rules(): Promise<ProjectionRules> {
    if (Date.now() >= this.#askAt) {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = undefined;
      });
      await this.#asking;
    }
    return { credentialInterrupts: this.#credentialInterrupts, failureText: this.config.failureText };
  }

  async close(): Promise<void> {
    await this.client.close();
  }

  async #ask(): Promise<void> {
    try {
      this.#credentialInterrupts = await this.client.credentialInterrupts();
      this.#askAt = Date.now() + BELIEVE_MS;
    } catch {
      // A host that cannot be asked now keeps what it said last.
      this.#askAt = Date.now() + ASK_AGAIN_MS;
    }
  }
}
