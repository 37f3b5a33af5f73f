import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createHttps, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { EgressResolver } from "../../src/egress/index.ts";

export interface Hit {
  readonly host: string | undefined;
  readonly url: string | undefined;
  readonly servername: string | undefined;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** A real listener that counts every accepted TCP connection, whether or not TLS or a request follows. */
export interface Receiver extends AsyncDisposable {
  readonly port: number;
  readonly hits: Hit[];
  accepted(): number;
  open(): number;
}

export interface ReceiverOptions {
  /** Without it the receiver speaks cleartext. */
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly address?: string;
  readonly port?: number;
  readonly handler?: RequestListener;
}

export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const hits: Hit[] = [];
  const sockets = new Set<Socket>();
  let accepted = 0;
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { host } = request.headers;
      const sni = (request.socket as TLSSocket).servername;
      const servername = typeof sni === "string" ? sni : undefined;
      const body = Buffer.concat(chunks).toString();
      hits.push({ host, url: request.url, servername, headers: request.headers, body });
      if (options.handler === undefined) response.writeHead(204).end();
      else options.handler(request, response);
    });
  };
  const server = options.tls === undefined ? createHttp(listener) : createHttps(options.tls, listener);
  // A handshake that the client refuses is what several tests want to see.
  server.on("tlsClientError", () => undefined);
  server.on("connection", (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((done) =>
    (server as Server).listen(options.port ?? 0, options.address ?? "127.0.0.1", done),
  );
  return {
    port: (server.address() as AddressInfo).port,
    hits,
    accepted: () => accepted,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

export type Answers = readonly string[] | Error;

/**
 * DNS in a table: each name has the answers of the first, second, … question; the last one stays.
 * @returns the resolver and the names that it was asked for
 */
export function tableResolver(
  table: Readonly<Record<string, readonly Answers[]>>,
): EgressResolver & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    async resolve({ name }) {
      const turns = table[name] ?? [];
      const turn = asked.filter((before) => before === name).length;
      asked.push(name);
      const answers = turns[Math.min(turn, turns.length - 1)];
      if (answers === undefined) return [];
      if (answers instanceof Error) throw answers;
      return answers;
    },
  };
}
