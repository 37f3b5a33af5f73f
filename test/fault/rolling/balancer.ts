/**
 * What a Kubernetes Service does for a set of pods, at the level of TCP: new connections go in turn to the replicas whose
 * `/readyz` answered lately; those that are open stay where they are; a replica that refuses is not hidden.
 */
import { connect, createServer, type Server, type Socket } from "node:net";

export interface Replica {
  readonly name: string;
  readonly port: number;
  readonly adminUrl: string;
}

export interface BalancerOptions {
  /** Pause between two looks at `/readyz`, in milliseconds. */
  readonly periodMs: number;
  /** Bad answers in a row before a replica gets no connections; one good answer brings it back. */
  readonly failures: number;
}

interface Place {
  readonly replica: Replica;
  ready: boolean;
  failed: number;
  /** Connections that it was given. */
  given: number;
}

export class Balancer {
  readonly port: number;
  /** Connections that no replica was ready for, or that the chosen one refused. */
  readonly refused: string[] = [];
  readonly #server: Server;
  readonly #places: readonly Place[];
  readonly #options: BalancerOptions;
  readonly #sockets = new Set<Socket>();
  readonly #timer: NodeJS.Timeout;
  #turn = 0;
  #looking = false;

  private constructor(server: Server, port: number, replicas: readonly Replica[], options: BalancerOptions) {
    this.#server = server;
    this.port = port;
    this.#options = options;
    this.#places = replicas.map((replica) => ({ replica, ready: false, failed: 0, given: 0 }));
    server.on("connection", (socket) => this.#forward(socket));
    this.#timer = setInterval(() => void this.#look(), options.periodMs);
  }

  /** Listens on a free port of the loopback address. */
  static async start(replicas: readonly Replica[], options: BalancerOptions): Promise<Balancer> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    const port = await new Promise<number>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        if (address === null || typeof address === "string") reject(new Error("no port"));
        else resolve(address.port);
      });
    });
    return new Balancer(server, port, replicas, options);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Connections that each replica was given so far. */
  get given(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#places.map(({ replica, given }) => [replica.name, given]));
  }

  isReady(name: string): boolean {
    return this.#places.some(({ replica, ready }) => replica.name === name && ready);
  }

  async untilReady(name: string, ms = 30_000): Promise<void> {
    const end = Date.now() + ms;
    while (!this.isReady(name)) {
      if (Date.now() > end) throw new Error(`${name} did not become ready`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    await Promise.all(this.#places.map((place) => this.#judge(place)));
    this.#looking = false;
  }

  /** A slow answer says nothing: the machine of the test may be busy with other things. */
  async #judge(place: Place): Promise<void> {
    const ok = await fetch(`${place.replica.adminUrl}/readyz`, { headers: { connection: "close" } }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.ok;
      },
      () => false,
    );
    place.failed = ok ? 0 : place.failed + 1;
    if (ok) place.ready = true;
    else if (place.failed >= this.#options.failures) place.ready = false;
  }

  #forward(client: Socket): void {
    this.#track(client);
    const ready = this.#places.filter((place) => place.ready);
    this.#turn += 1;
    const place = ready[this.#turn % Math.max(1, ready.length)];
    if (place === undefined) {
      this.refused.push("nobody is ready");
      client.resetAndDestroy();
      return;
    }
    place.given += 1;
    const server = connect({
      port: place.replica.port,
      host: "127.0.0.1",
      noDelay: true,
      allowHalfOpen: true,
    });
    this.#track(server);
    let connected = false;
    server.once("connect", () => {
      connected = true;
    });
    server.on("error", () => {
      if (!connected) this.refused.push(`${place.replica.name} refused`);
      client.resetAndDestroy();
    });
    client.on("error", () => server.resetAndDestroy());
    client.pipe(server);
    server.pipe(client);
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }
}
