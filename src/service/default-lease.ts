import { invalidParams } from "../domain/errors.ts";
import type { EndpointStore } from "../store/endpoints.ts";
import type { Call } from "./call.ts";
import { requireVerb } from "./worker/inputs.ts";

/** Bounds of an endpoint's own default lease, in seconds (SB-15). */
export const DEFAULT_LEASE_SECONDS = { min: 60, max: 86_400 } as const;

/** The lease of a claim that names none, in seconds. */
export interface DefaultLease {
  readonly effective: number;
  /** The endpoint's own; undefined: it has none, and the server's holds. */
  readonly own: number | undefined;
}

export interface DefaultLeases {
  get(call: Call): Promise<DefaultLease>;
  /** `seconds` null: back to the server's. */
  set(seconds: number | null, call: Call): Promise<DefaultLease>;
}

/** What an endpoint may know and change of its own default lease; it is no part of the scope (todo-delegation.md 2.3). */
export function createDefaultLeases(options: {
  readonly endpoints: EndpointStore;
  readonly serverSeconds: number;
  /** Told of the change before other replicas notice it, which takes them a few seconds. */
  onChanged(endpointId: string): void;
}): DefaultLeases {
  const shown = (own: number | undefined): DefaultLease => ({ effective: own ?? options.serverSeconds, own });
  return {
    async get(call) {
      requireVerb(call.caller, "get_default_lease");
      return shown((await options.endpoints.get(call.caller.id))?.defaultLeaseSeconds);
    },
    async set(seconds, call) {
      requireVerb(call.caller, "set_default_lease");
      const { min, max } = DEFAULT_LEASE_SECONDS;
      if (seconds !== null && (!Number.isInteger(seconds) || seconds < min || seconds > max)) {
        throw invalidParams({
          field: "defaultLeaseTtlSeconds",
          description: `must be null or ${min} to ${max} whole seconds`,
        });
      }
      await options.endpoints.update(call.caller.id, { defaultLeaseSeconds: seconds ?? 0 });
      options.onChanged(call.caller.id);
      return shown(seconds ?? undefined);
    },
  };
}
