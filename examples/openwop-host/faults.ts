/** The routes that a fault can be put on. */
export type RouteName =
  | "discovery"
  | "create"
  | "read"
  | "list"
  | "events"
  | "poll"
  | "cancel"
  | "resolve"
  | "fork"
  | "artifact"
  | "workflow";

/**
 * What goes wrong, `times` times:
 * `status` answers it without doing anything; `hang` never answers; `lost` does the work and then cuts the connection
 * before the answer; `late` does the work and answers after `ms`; `reset` cuts it before anything; `cut` ends an event stream after `frames` frames; `twice` sends
 * every frame of an event stream two times.
 */
export interface Fault {
  readonly route: RouteName;
  readonly kind: "status" | "hang" | "lost" | "late" | "reset" | "cut" | "twice";
  readonly times: number;
  readonly status?: number;
  readonly retryAfterSeconds?: number;
  readonly frames?: number;
  readonly ms?: number;
}

/** Text that stands in every injected failure, so that a test can search for it where it must not be. */
export const FAULT_TEXT = "host-internal-detail-7d1f";

/** The faults that are still to happen, first come first served. */
export class FaultPlan {
  readonly #faults: { fault: Fault; left: number }[] = [];

  add(fault: Fault): void {
    this.#faults.push({ fault, left: fault.times });
  }

  clear(): void {
    this.#faults.length = 0;
  }

  /** Uses up one fault of a route, if there is one. */
  take(route: RouteName, kinds: readonly Fault["kind"][]): Fault | undefined {
    const entry = this.#faults.find(
      ({ fault, left }) => left > 0 && fault.route === route && kinds.includes(fault.kind),
    );
    if (entry === undefined) return undefined;
    entry.left--;
    return entry.fault;
  }
}
