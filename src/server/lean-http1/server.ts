/**
 * HTTP/1.1 for what is called most: small requests with one answer, on connections that are kept. Node's HTTP makes two
 * streams, a parser and a dozen listeners for each request; here a request is one chunk, and its answer one write.
 * Whatever is not of that form is left to Node's HTTP, with its connection, and before anything has been answered or
 * refused: so there is one judge of odd and hostile requests.
 */
import type { Socket } from "node:net";
import type { CallHandler, LeanRequest } from "../../transports/http-handler.ts";
import type { InFlight } from "../drain.ts";
import type { Http1 } from "../http1.ts";
import { keepAliveHint, type ListenerLimits } from "../limits.ts";
import type { ServerLog } from "../log.ts";
import { route } from "../routes.ts";
import { type Host, LeanConnection } from "./connection.ts";
import { RequestReader } from "./read-request.ts";

export interface LeanCalls {
  /** Asked of each request; false: it is Node's. */
  takes(request: LeanRequest): boolean;
  /** Asked in this order of what is taken. */
  readonly handlers: readonly CallHandler[];
  /** Largest body in bytes; larger ones are Node's, to refuse. */
  readonly maxBodyBytes: number;
}

export interface LeanHttp1Options {
  readonly calls: LeanCalls;
  readonly limits: ListenerLimits;
  readonly node: Http1;
  readonly inFlight: InFlight;
  readonly log: ServerLog | undefined;
  /** Gives a paused socket to Node's HTTP. */
  leave(socket: Socket): void;
}

export interface LeanHttp1 {
  accept(socket: Socket): void;
  /** From now on each answer closes its connection. */
  retire(): void;
  /** The same, and connections are closed as soon as they are idle. */
  drain(): void;
}

/** Largest request, head and body, in bytes: what a client sends at once mostly arrives at once up to here. */
const MAX_BYTES = 16_384;

/** A connection is kept for so much longer than its client is told, as by Node (`keepAliveTimeoutBuffer`), in milliseconds. */
const IDLE_BUFFER_MS = 1000;

export function createLeanHttp1(options: LeanHttp1Options): LeanHttp1 {
  const { calls, limits, node, inFlight } = options;
  const connections = new Set<LeanConnection>();
  const serve = route(calls.handlers, options.log);
  const { maxHeaderBytes, keepAliveTimeoutMs } = limits;
  const bounds = { maxBytes: MAX_BYTES, maxHeaderBytes, maxBodyBytes: calls.maxBodyBytes };
  const hint = keepAliveHint(limits);
  const kept =
    hint === undefined
      ? `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveTimeoutMs / 1000)}`
      : "Connection: keep-alive";
  let retiring = false;
  let draining = false;

  const host: Host = {
    firstMs: limits.headersTimeoutMs,
    idleMs: keepAliveTimeoutMs + IDLE_BUFFER_MS,
    get retiring() {
      return retiring;
    },
    get draining() {
      return draining;
    },
    takes: calls.takes,
    serve(request, answer) {
      inFlight.add(answer);
      if (hint !== undefined && !retiring) answer.setHeader("keep-alive", hint);
      void serve(request, answer);
    },
    leave: options.leave,
    late: node.expire,
    forget: (connection) => void connections.delete(connection),
    connectionLines: () => (retiring ? "Connection: close" : kept),
  };

  return {
    accept(socket) {
      connections.add(new LeanConnection(socket, new RequestReader(bounds), host));
      socket.resume();
    },
    retire() {
      retiring = true;
    },
    drain() {
      retiring = true;
      draining = true;
      // Right after all that has arrived was read: whose next request is here is not idle.
      setImmediate(() => {
        for (const connection of connections) if (connection.isIdle) connection.cut();
      });
    },
  };
}
