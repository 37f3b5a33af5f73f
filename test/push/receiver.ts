import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { type Authority, createAuthority } from "../egress/certificates.ts";

/** One request as it came in. */
export interface PushHit {
  readonly at: number;
  readonly path: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly seq: number;
}

/** Answers a hit; `count` is how many came before it. */
export type Answer = (
  hit: PushHit,
  response: ServerResponse,
  count: number,
  request: IncomingMessage,
) => void;

/** A TLS receiver on the loopback interface that remembers what it got. */
export interface PushReceiver {
  readonly url: string;
  readonly port: number;
  readonly hits: PushHit[];
  /** Accepted connections, with or without a request. */
  readonly accepted: number;
  answer: Answer;
  /** Resolves when `count` hits came; rejects after `ms`. */
  until(count: number, ms?: number): Promise<readonly PushHit[]>;
  close(): Promise<void>;
}

let shared: Authority | undefined;

/** The authority of all test receivers. */
export function testAuthority(): Authority {
  shared ??= createAuthority("Push test root");
  return shared;
}

export const respond =
  (status: number, headers: Record<string, string> = {}, body = ""): Answer =>
  (_hit, response) => {
    response.writeHead(status, headers).end(body);
  };

/** Accepts the request and never answers. */
export const hang: Answer = () => {};

export async function startPushReceiver(
  options: { readonly answer?: Answer; readonly names?: readonly string[] } = {},
): Promise<PushReceiver> {
  const hits: PushHit[] = [];
  const sockets = new Set<Socket>();
  const waiting = new Set<() => void>();
  let accepted = 0;
  const { key, cert } = testAuthority().issue({ addresses: ["127.0.0.1"], names: options.names ?? [] });
  const server: Server = createServer({ key, cert }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const hit: PushHit = {
        at: Date.now(),
        path: request.url ?? "",
        headers: request.headers,
        rawHeaders: request.rawHeaders,
        body: Buffer.concat(chunks).toString(),
        seq: Number(request.headers["a2a-event-sequence"]),
      };
      hits.push(hit);
      receiver.answer(hit, response, hits.length - 1, request);
      for (const wake of waiting) wake();
    });
  });
  server.on("tlsClientError", () => undefined);
  server.on("connection", (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const receiver: PushReceiver = {
    url: `https://127.0.0.1:${port}/hook`,
    port,
    hits,
    get accepted() {
      return accepted;
    },
    answer: options.answer ?? respond(204),
    until(count, ms = 10_000) {
      return new Promise((resolve, reject) => {
        const check = () => {
          if (hits.length < count) return;
          clearTimeout(timer);
          waiting.delete(check);
          resolve(hits);
        };
        const timer = setTimeout(() => {
          waiting.delete(check);
          reject(new Error(`${hits.length} of ${count} pushes came within ${ms} ms`));
        }, ms);
        waiting.add(check);
        check();
      });
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
  return receiver;
}

export function quiet(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
