import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import {
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthListResponseSchema,
  Health as HealthService,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "../../../gen/grpc/health/v1/health_pb.js";

/** What a service may be set to. */
export type HealthStatus = "SERVING" | "NOT_SERVING" | "UNKNOWN";

export interface Health {
  /** Sets a service, by full name; the empty name is the server as a whole. Watchers hear of a change at once. */
  set(service: string, status: HealthStatus): void;
  /** The present status; undefined for a service that was never set. */
  get(service: string): HealthStatus | undefined;
  /**
   * Reports NOT_SERVING everywhere, tells each watcher and ends its stream, and ignores later `set`. Call it before the
   * listener drains, or the open watches hold the drain up (G13).
   */
  shutdown(): void;
  /** Adds the service to a Connect router. */
  readonly routes: (router: ConnectRouter) => void;
}

/** `grpc.health.v1.Health.List` has no pages; beyond this the protocol asks for an error. */
const MAX_LISTED = 100;

/**
 * The gRPC health service (`grpc.health.v1`): Check, List and Watch. The server as a whole starts as `SERVING`.
 *
 * ```ts
 * const health = createHealth();
 * health.set("lf.a2a.v1.A2AService", "SERVING");
 * connectNodeAdapter({ routes: health.routes });
 * ```
 */
export function createHealth(): Health {
  const statuses = new Map<string, HealthStatus>([["", "SERVING"]]);
  const watchers = new Set<Watcher>();
  let ended = false;

  const change = (service: string, status: HealthStatus): void => {
    if (statuses.get(service) === status) return;
    statuses.set(service, status);
    for (const watcher of watchers) if (watcher.service === service) watcher.wake();
  };

  async function* watch(
    { service }: { readonly service: string },
    { signal }: Pick<HandlerContext, "signal">,
  ): AsyncGenerator<HealthCheckResponse> {
    const watcher = new Watcher(service);
    const onAbort = (): void => watcher.wake();
    watchers.add(watcher);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      let told: ServingStatus | undefined;
      for (;;) {
        const changed = watcher.next();
        const status = statuses.get(service);
        const now = status === undefined ? ServingStatus.SERVICE_UNKNOWN : ServingStatus[status];
        // A watcher that reads slowly is told the latest status, not each one that it missed.
        if (now !== told) {
          told = now;
          yield create(HealthCheckResponseSchema, { status: now });
          continue;
        }
        if (ended) throw new ConnectError("the server is shutting down", Code.Unavailable);
        if (signal.aborted) return;
        await changed;
      }
    } finally {
      watchers.delete(watcher);
      signal.removeEventListener("abort", onAbort);
    }
  }

  return {
    set(service, status) {
      if (!ended) change(service, status);
    },
    get: (service) => statuses.get(service),
    shutdown() {
      if (ended) return;
      for (const service of statuses.keys()) change(service, "NOT_SERVING");
      ended = true;
      for (const watcher of watchers) watcher.wake();
    },
    routes: (router) => {
      router.service(HealthService, {
        check({ service }) {
          const status = statuses.get(service);
          if (status === undefined) throw new ConnectError("unknown service", Code.NotFound);
          return { status: ServingStatus[status] };
        },
        list() {
          if (statuses.size > MAX_LISTED) {
            throw new ConnectError(`more than ${MAX_LISTED} services`, Code.ResourceExhausted);
          }
          const entries = [...statuses].map(
            ([service, status]) =>
              [service, create(HealthCheckResponseSchema, { status: ServingStatus[status] })] as const,
          );
          return create(HealthListResponseSchema, { statuses: Object.fromEntries(entries) });
        },
        watch,
      });
    },
  };
}

/** One open Watch: a bell that may ring before anybody listens. */
class Watcher {
  readonly service: string;
  #bell = Promise.withResolvers<void>();

  constructor(service: string) {
    this.service = service;
  }

  /** Resolves at the next ring after this call. Take it before reading the status, so that no change is missed. */
  next(): Promise<void> {
    this.#bell = Promise.withResolvers<void>();
    return this.#bell.promise;
  }

  wake(): void {
    this.#bell.resolve();
  }
}
