import { randomBytes } from "node:crypto";
import type { TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Config } from "../config/schema.ts";
import type { Caller } from "../domain/caller.ts";
import { BatonError, type FieldViolation, invalidParams } from "../domain/errors.ts";
import { isTraceparent } from "../domain/trace-context.ts";
import {
  type EgressClient,
  type EgressDecision,
  EgressDenied,
  EgressFailed,
  headerProblem,
} from "../egress/index.ts";
import type { PushConfigRecord, PushRegistration, PushVersion } from "../store/push-configs.ts";
import type { TokenBuckets } from "../store/token-buckets.ts";
import type { DecisionLog } from "./decision-log.ts";
import type { PushMetrics } from "./metrics.ts";
import type { PushSecret, SecretBox } from "./secret-box.ts";

export interface RegistrationInput {
  readonly agent: string;
  readonly caller: Caller;
  /** The version whose bodies the receiver will get: that of the call (A2A-174). */
  readonly version: PushVersion;
  readonly config: TaskPushNotificationConfig;
  /** Where the config stands in the request, with a dot at its end; empty at the root. */
  readonly path: string;
  readonly traceparent?: string;
  readonly signal: AbortSignal;
}

export interface RegistrarOptions {
  readonly box: SecretBox;
  readonly egress: EgressClient;
  readonly buckets: TokenBuckets;
  readonly settings: Config["push"];
  readonly metrics: PushMetrics;
  readonly decisions: DecisionLog;
}

const CLIENT_ID = /^[A-Za-z0-9._~-]{1,128}$/;
const AUTH_SCHEME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
const MAX_SECRET = 4096;

/** Checks what a client wants to register, and seals its secrets. Stores nothing. */
export class PushRegistrar {
  readonly #options: RegistrarOptions;

  constructor(options: RegistrarOptions) {
    this.#options = options;
  }

  /** Throws InvalidParams, RateLimited, or Unavailable where the resolver is down. */
  async prepare(input: RegistrationInput): Promise<PushRegistration> {
    const { metrics } = this.#options;
    try {
      const registration = await this.#prepare(input);
      metrics.count("baton_push_registrations_total", { outcome: "accepted" });
      return registration;
    } catch (error) {
      const outcome = error instanceof BatonError ? error.kind : "error";
      metrics.count("baton_push_registrations_total", { outcome });
      throw error;
    }
  }

  async #prepare(input: RegistrationInput): Promise<PushRegistration> {
    const { box, settings } = this.#options;
    const { agent, caller, config, path } = input;
    const violations = configViolations(config).map(({ field, description }) => ({
      field: `${path}${field}`,
      description,
    }));
    if (violations.length > 0) throw invalidParams(...violations);
    await this.#charge(caller);
    const decision = await this.#check(input);
    const secret: PushSecret = {
      ...(config.token === "" ? {} : { token: config.token }),
      ...(config.authentication === undefined || config.authentication.credentials === ""
        ? {}
        : { credentials: config.authentication.credentials }),
    };
    const hasSecret = Object.keys(secret).length > 0;
    const trace = input.traceparent;
    const record: PushConfigRecord = {
      id: config.id || `pnc-${randomBytes(16).toString("base64url")}`,
      owner: caller.id,
      url: config.url,
      host: `${decision.host}:${decision.port}`,
      version: input.version,
      createdAt: Date.now(),
      ...(config.authentication === undefined ? {} : { scheme: config.authentication.scheme }),
      ...(hasSecret ? { sealed: true } : {}),
      ...(trace !== undefined && isTraceparent(trace) ? { trace } : {}),
    };
    return {
      ref: randomBytes(16).toString("base64url"),
      config: record,
      sealed: hasSecret ? box.seal(secret, secretBinding(agent, record)) : "",
      limit: settings.configsPerTask,
    };
  }

  /** Registrations cost name look-ups, so they have a limit of their own (Q13). */
  async #charge(caller: Caller): Promise<void> {
    const { buckets, settings } = this.#options;
    const waitMs = await buckets.take({ name: "push", ...settings.registration, batch: 1 }, caller.id);
    if (waitMs > 0) {
      throw new BatonError("RateLimited", "too many push registrations", { retryAfterMs: waitMs });
    }
  }

  async #check(input: RegistrationInput): Promise<EgressDecision> {
    const { egress, decisions } = this.#options;
    const field = `${input.path}url`;
    try {
      const decision = await egress.check(input.config.url, { signal: input.signal });
      decisions.record(decision, "registration", input.agent);
      return decision;
    } catch (error) {
      if (error instanceof EgressDenied) {
        decisions.record(error.decision, "registration", input.agent);
        throw invalidParams({ field, description: error.message });
      }
      if (!(error instanceof EgressFailed)) throw error;
      if (error.reason === "dns_no_answer") throw invalidParams({ field, description: "has no address" });
      if (error.reason === "aborted") throw new BatonError("Canceled", "the call was canceled");
      throw new BatonError("Unavailable", "the url could not be checked: the resolver does not answer", {
        retryAfterMs: 1000,
        cause: error,
      });
    }
  }
}

/** What a sealed credential is bound to: it opens for this config and this origin and for nothing else (OW-43). */
export function secretBinding(agent: string, config: PushConfigRecord): string {
  return JSON.stringify([agent, config.owner, config.id, new URL(config.url).origin]);
}

/** What is wrong with a config in itself. Values never appear in the answer. */
function configViolations(config: TaskPushNotificationConfig): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const { id, url, token, authentication } = config;
  if (url === "") violations.push({ field: "url", description: "is required" });
  if (id !== "" && !CLIENT_ID.test(id)) {
    violations.push({ field: "id", description: "must be 1 to 128 of letters, digits, '.', '_', '~', '-'" });
  }
  violations.push(...secretViolations("token", token));
  if (authentication !== undefined) {
    if (!AUTH_SCHEME.test(authentication.scheme)) {
      violations.push({ field: "authentication.scheme", description: "must be the name of an HTTP scheme" });
    }
    violations.push(...secretViolations("authentication.credentials", authentication.credentials));
  }
  return violations;
}

/** A header value may hold nothing that could end it and begin another (A2A-200, S5). */
function secretViolations(field: string, value: string): FieldViolation[] {
  if (value.length > MAX_SECRET) {
    return [{ field, description: `must have at most ${MAX_SECRET} characters` }];
  }
  const usable = headerProblem("authorization", value) === undefined && value.trim() === value;
  return usable ? [] : [{ field, description: "must be a plain HTTP header value" }];
}
