import type { Config } from "../config/schema.ts";
import type { Admission, HostLimits, PushLaneStore } from "../store/push-lanes.ts";
import type { PushLog } from "./decision-log.ts";
import type { AttemptOutcome } from "./outcome.ts";

/** How long a host is taken for well after it was, in milliseconds. */
const WELL_MS = 250;
const MAX_WELL = 10_000;
/** What a probe of the breaker may take beyond its request, in milliseconds. */
const PROBE_MARGIN_MS = 5000;

/** Whether a host may be sent to: the rate limit and the breaker that all replicas share. */
export class HostGate {
  readonly #lanes: Pick<PushLaneStore, "admit" | "tell">;
  readonly #log: PushLog;
  readonly #limits: HostLimits;
  readonly #probeMs: number;
  /** Hosts that were found well a moment ago, and until when that is believed. */
  readonly #well = new Map<string, number>();

  constructor(options: {
    readonly lanes: Pick<PushLaneStore, "admit" | "tell">;
    readonly settings: Config["push"];
    readonly log: PushLog;
  }) {
    const { host, breaker, timeoutSeconds } = options.settings;
    this.#lanes = options.lanes;
    this.#log = options.log;
    this.#limits = {
      ...host,
      failures: breaker.failures,
      openMs: breaker.openSeconds * 1000,
      openMaxMs: breaker.openMaxSeconds * 1000,
    };
    this.#probeMs = timeoutSeconds * 1000 + PROBE_MARGIN_MS;
  }

  /**
   * Asks the limiter and the breaker; without a limit, a host that is well is asked about only now and then. `reserved`:
   * the limiter has given the push its turn before.
   */
  async admit(host: string, reserved: boolean): Promise<Admission> {
    const isLimited = this.#limits.perSecond > 0;
    if (!isLimited && (this.#well.get(host) ?? 0) > performance.now()) return { kind: "go", failures: 0 };
    const answer = await this.#lanes.admit(host, this.#limits, reserved, this.#probeMs);
    if (!isLimited && answer.kind === "go" && answer.failures === 0) {
      if (this.#well.size >= MAX_WELL) this.#well.clear();
      this.#well.set(host, performance.now() + WELL_MS);
    }
    return answer;
  }

  /** Tells the breaker what came of an attempt. `failuresBefore`: as the admission said. */
  async tell(host: string, outcome: AttemptOutcome, failuresBefore: number): Promise<void> {
    if (outcome.kind === "interrupted") return;
    const down = outcome.kind === "failed" && outcome.receiverDown;
    if (!down && failuresBefore === 0) return;
    this.#well.delete(host);
    const answer = await this.#lanes.tell(host, this.#limits, !down);
    if (answer.kind === "open") this.#log.warn({ host, forMs: answer.waitMs }, "push receiver is left alone");
  }
}
