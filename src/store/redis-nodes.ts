import { createClient } from "redis";
import type { Reply } from "./connection.ts";
import { Patience } from "./patience.ts";
import { Silence } from "./silence.ts";

/** How long a connection may take to stand, in milliseconds. */
const CONNECT_MS = 2000;

/** How long a command waits behind others that a connection does not take, in milliseconds. */
const WRITE_MS = 5000;

export interface NodeOptions {
  readonly username?: string;
  readonly password?: string;
  readonly tls?: boolean;
}

type NodeClient = ReturnType<typeof newClient>;

/** A connection to one server. It never reconnects: when it breaks it is over, so no command can run twice unseen. */
export type RedisNode = NodeClient;

function newClient(address: string, options: NodeOptions, typeMapping: object) {
  const { host, port } = parseAddress(address);
  return createClient({
    socket: {
      host,
      port,
      connectTimeout: CONNECT_MS,
      reconnectStrategy: false,
      ...(options.tls === true ? { tls: true as const } : {}),
    },
    ...(options.username === undefined ? {} : { username: options.username }),
    ...(options.password === undefined ? {} : { password: options.password }),
    RESP: 2,
    commandOptions: { typeMapping },
  });
}

/** `host:port`; the host may be an IPv6 address. */
export function formatAddress(host: string, port: number | string): string {
  return `${host}:${port}`;
}

function parseAddress(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

/** Open connections, at most one to each server. */
export class RedisNodes {
  readonly #options: NodeOptions;
  readonly #typeMapping: object;
  readonly #onLost: (address: string, node: RedisNode, error: unknown) => void;
  readonly #nodes = new Map<string, Promise<RedisNode>>();
  readonly #standing = new Map<RedisNode, { readonly address: string; readonly silence: Silence }>();
  readonly #writing = new Patience(WRITE_MS);
  #closed = false;

  /** `onLost` is told of each connection that stood and broke. */
  constructor(
    options: NodeOptions,
    typeMapping: object,
    onLost: (address: string, node: RedisNode, error: unknown) => void,
  ) {
    this.#options = options;
    this.#typeMapping = typeMapping;
    this.#onLost = onLost;
  }

  /** The connection to a server, opened on first use. Rejects where the server cannot be reached. */
  get(address: string): Promise<RedisNode> {
    if (this.#closed) return Promise.reject(new Error("the connection is closed"));
    const known = this.#nodes.get(address);
    if (known !== undefined) return known;
    const opening = this.#open(address);
    this.#nodes.set(address, opening);
    opening.catch(() => {
      if (this.#nodes.get(address) === opening) this.#nodes.delete(address);
    });
    return opening;
  }

  /** Sends a command of which {@link silent} knows whether it was answered. */
  async send(node: RedisNode, args: readonly (string | Buffer)[]): Promise<Reply> {
    // The client's own timeout is a timer for each command.
    const answer = node.sendCommand(args, { timeout: 0, abortSignal: this.#writing.signal });
    const silence = this.#standing.get(node)?.silence;
    return (await (silence?.until(answer) ?? answer)) as unknown as Reply;
  }

  /** Servers that have answered nothing at all for so many milliseconds though they were asked. */
  silent(ms: number): string[] {
    return [...this.#standing.values()]
      .filter(({ silence }) => silence.isLongerThan(ms))
      .map(({ address }) => address);
  }

  /** Drops the connection to a server; commands under way on it fail. Answers the connection, if there was one. */
  async drop(address: string): Promise<RedisNode | undefined> {
    const known = this.#nodes.get(address);
    this.#nodes.delete(address);
    const node = await known?.catch(() => undefined);
    if (node !== undefined) {
      this.#standing.delete(node);
      if (node.isOpen) node.destroy();
    }
    return node;
  }

  /** Drops the connections to all servers but these. */
  keepOnly(addresses: ReadonlySet<string>): void {
    for (const address of [...this.#nodes.keys()]) if (!addresses.has(address)) void this.drop(address);
  }

  close(): void {
    this.#closed = true;
    this.keepOnly(new Set());
  }

  async #open(address: string): Promise<RedisNode> {
    const node = newClient(address, this.#options, this.#typeMapping);
    let stood = false;
    node.on("error", (error) => {
      if (!stood) return;
      stood = false;
      this.#nodes.delete(address);
      this.#standing.delete(node);
      if (node.isOpen) node.destroy();
      if (!this.#closed) this.#onLost(address, node, error);
    });
    await inTime(node);
    stood = true;
    if (this.#closed) {
      node.destroy();
      throw new Error("the connection is closed");
    }
    this.#standing.set(node, { address, silence: new Silence() });
    return node;
  }
}

/** The client's own limit is for the socket: a server that hangs takes that, and never answers what is said first on it. */
async function inTime(node: RedisNode): Promise<void> {
  const limit = setTimeout(() => node.isOpen && node.destroy(), CONNECT_MS);
  try {
    await node.connect();
  } finally {
    clearTimeout(limit);
  }
}
