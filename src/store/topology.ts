import { keySlot } from "./key-slot.ts";
import { formatAddress, type NodeOptions, RedisNodes } from "./redis-nodes.ts";

/** Where the data is now: which server takes the commands of a key, or the subscribers of a sharded channel. */
export interface Topology {
  /** `host:port`; undefined while nobody is known to own the key. */
  ownerOf(key: string): string | undefined;
  /** Servers that own anything. */
  owners(): ReadonlySet<string>;
  /** Asks the servers anew; keeps what it knew where none of them answers. */
  refresh(): Promise<void>;
  close(): void;
}

interface Seed {
  readonly host: string;
  readonly port: number;
}

/** How long one server may take to say what it knows, in milliseconds. */
const ASK_MS = 1000;

/** Asks servers, one after the other, until one gives an answer that `read` can use. */
class Informants {
  readonly #nodes: RedisNodes;

  constructor(options: NodeOptions) {
    this.#nodes = new RedisNodes(options, {}, () => {});
  }

  async ask<T>(
    addresses: Iterable<string>,
    args: readonly string[],
    read: (reply: unknown) => T | undefined,
  ): Promise<T | undefined> {
    for (const address of addresses) {
      try {
        const found = read(await this.#one(address, args));
        if (found !== undefined) return found;
      } catch {
        // Down or slow: the next one may know, and the caller goes on with what it knew before.
        void this.#nodes.drop(address);
      }
    }
    return undefined;
  }

  async #one(address: string, args: readonly string[]): Promise<unknown> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`${address} does not answer`)), ASK_MS);
    try {
      const asked = this.#nodes.get(address).then((node) => node.sendCommand(args));
      asked.catch(() => {});
      return await Promise.race([asked, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#nodes.close();
  }
}

/** One primary, named by sentinels and asked itself whether it is one. */
export function sentinelTopology(name: string, seeds: readonly Seed[], options: NodeOptions): Topology {
  const sentinels = new Informants({});
  const servers = new Informants(options);
  const addresses = seeds.map(({ host, port }) => formatAddress(host, port));
  let primary: string | undefined;
  return {
    ownerOf: () => primary,
    owners: () => new Set(primary === undefined ? [] : [primary]),
    async refresh() {
      const named = await sentinels.ask(addresses, ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name], (reply) =>
        Array.isArray(reply) ? formatAddress(String(reply[0]), String(reply[1])) : undefined,
      );
      if (named === undefined) return;
      // Right after a failover sentinels may still name the server that was demoted or that died.
      const role = await servers.ask([named], ["ROLE"], (reply) =>
        Array.isArray(reply) ? String(reply[0]) : undefined,
      );
      primary = role === "master" ? named : undefined;
    },
    close() {
      sentinels.close();
      servers.close();
    },
  };
}

/** Owners by slot, as any server of the cluster tells them. */
export function clusterTopology(seeds: readonly Seed[], options: NodeOptions): Topology {
  const servers = new Informants(options);
  const known = new Set(seeds.map(({ host, port }) => formatAddress(host, port)));
  let slots: readonly { readonly from: number; readonly to: number; readonly owner: string }[] = [];
  return {
    ownerOf(key) {
      const slot = keySlot(key);
      return slots.find(({ from, to }) => from <= slot && slot <= to)?.owner;
    },
    owners: () => new Set(slots.map(({ owner }) => owner)),
    async refresh() {
      const found = await servers.ask([...known], ["CLUSTER", "SLOTS"], readSlots);
      if (found === undefined) return;
      slots = found.slots;
      for (const address of found.servers) {
        // What answered last is asked first, and servers that came later are known too.
        known.delete(address);
        known.add(address);
      }
    },
    close: () => servers.close(),
  };
}

function readSlots(reply: unknown) {
  if (!Array.isArray(reply) || reply.length === 0) return undefined;
  const servers = new Set<string>();
  const slots = reply.map((range) => {
    const [from, to, ...nodes] = range as [number, number, ...[string, number][]];
    const addresses = nodes.map(([host, port]) => formatAddress(String(host), Number(port)));
    for (const address of addresses) servers.add(address);
    return { from: Number(from), to: Number(to), owner: addresses[0] ?? "" };
  });
  return { slots, servers };
}
