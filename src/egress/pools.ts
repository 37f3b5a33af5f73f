import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import { Pool } from "undici";
import { type PinnedDestination, pinnedConnector } from "./connect.ts";

export interface PoolsOptions {
  readonly trust: SecureContext;
  readonly connectMs: number;
  /** Sockets to one destination at one time; more requests wait, inside their own deadline. */
  readonly connectionsPerDestination: number;
  /** Destinations whose idle connections are kept. */
  readonly maxDestinations: number;
  /** Milliseconds that an idle connection is kept. */
  readonly idleMs: number;
}

export interface PoolLease {
  readonly pool: Pool;
  /** @param broken throw the pool away unless somebody else is using it, with any connection still being made */
  release(broken: boolean): void;
}

interface Entry {
  readonly pool: Pool;
  readonly connecting: Set<Socket>;
  users: number;
}

/**
 * Kept-alive connections, one pool for each (scheme, name, port, checked address). A connection is used again only
 * by a request whose own check, a moment ago, gave that same address for that same name.
 */
export class Pools {
  readonly #options: PoolsOptions;
  /** In order of last use. */
  readonly #entries = new Map<string, Entry>();

  constructor(options: PoolsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  lease(destination: PinnedDestination): PoolLease {
    const key = [destination.scheme, destination.host, destination.port, destination.address].join(" ");
    const entry = this.#entries.get(key) ?? this.#open(destination);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.users++;
    return {
      pool: entry.pool,
      release: (broken) => {
        entry.users--;
        if (broken && entry.users === 0 && this.#entries.get(key) === entry) this.#drop(key, entry);
        this.#evict();
      },
    };
  }

  async destroy(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    await Promise.all(entries.map(end));
  }

  #open(destination: PinnedDestination): Entry {
    const { trust, connectMs, connectionsPerDestination, idleMs } = this.#options;
    const connecting = new Set<Socket>();
    const host = destination.host.includes(":") ? `[${destination.host}]` : destination.host;
    const pool = new Pool(`${destination.scheme}://${host}:${destination.port}`, {
      connect: pinnedConnector(destination, trust, connectMs, connecting),
      connections: connectionsPerDestination,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
      // The sender's own clocks rule; these would only fire beside them.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return { pool, connecting, users: 0 };
  }

  #drop(key: string, entry: Entry): void {
    this.#entries.delete(key);
    void end(entry);
  }

  #evict(): void {
    if (this.#entries.size <= this.#options.maxDestinations) return;
    for (const [key, entry] of this.#entries) {
      if (entry.users > 0) continue;
      this.#drop(key, entry);
      if (this.#entries.size <= this.#options.maxDestinations) return;
    }
  }
}

async function end(entry: Entry): Promise<void> {
  for (const socket of entry.connecting) socket.destroy();
  await entry.pool.destroy();
}
