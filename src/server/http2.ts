import {
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { Socket } from "node:net";
import { BatonError } from "../domain/errors.ts";
import { retireSession } from "./drain.ts";
import { sendError } from "./error-response.ts";
import type { ListenerLimits } from "./limits.ts";
import { setSecurityHeaders } from "./security-headers.ts";

/** Serves the HTTP/2 connections that the listener hands over. It never listens itself. */
export interface Http2 {
  accept(socket: Socket): void;
  /** Retires every session; resolves when each client has been told. */
  drain(): Promise<void>;
}

/**
 * Pings of clients are answered by nghttp2 and never counted against them, with or without calls: gRPC clients behind
 * balancers ping every 10 to 30 s, and a strike would cost them all their calls (G7). Floods are bounded by nghttp2's
 * own limit on queued acknowledgements.
 */
export function createHttp2(
  limits: ListenerLimits,
  onRequest: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
): Http2 {
  const sessions = new Map<ServerHttp2Session, Socket>();
  const openStreams = new WeakMap<ServerHttp2Session, number>();
  let draining = false;
  let accepting: Socket | undefined;

  const server = createServer({
    settings: {
      enablePush: false,
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: limits.maxHeaderBytes,
    },
    // Node's default is 128 pairs; metadata-heavy proxies come near it. The size limit above is what protects us.
    maxHeaderListPairs: 256,
  });

  server.on("session", (session) => {
    const socket = accepting;
    if (socket === undefined) throw new Error("a session without a connection");
    sessions.set(session, socket);
    session.once("close", () => sessions.delete(session));
    session.on("error", () => {
      // A broken peer ends its own session; there is nobody to tell.
    });
    session.setTimeout(limits.sessionIdleMs, () => {
      if ((openStreams.get(session) ?? 0) === 0) session.close();
    });
    if (draining) void retireSession(session, socket);
  });

  const serve = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    const { session } = request.stream;
    if (session !== undefined) {
      // The session is typed for both sides; a request of a server is on a server session.
      const key = session as ServerHttp2Session;
      openStreams.set(key, (openStreams.get(key) ?? 0) + 1);
      response.once("close", () => openStreams.set(key, (openStreams.get(key) ?? 1) - 1));
    }
    if (headerBytes(request) > limits.maxHeaderBytes) {
      setSecurityHeaders(response);
      request.resume();
      sendError(response, new BatonError("InvalidRequest", "the headers are too large"), 431);
      return;
    }
    onRequest(request, response);
  };
  server.on("request", serve);
  server.on("connect", serve);
  server.on("checkExpectation", serve);
  server.on("sessionError", () => {
    // Reported on the session as well.
  });

  return {
    accept(socket) {
      // The session is made, and announced, within the emit.
      accepting = socket;
      server.emit("connection", socket);
      accepting = undefined;
    },
    async drain() {
      draining = true;
      await Promise.all([...sessions].map(([session, socket]) => retireSession(session, socket)));
    },
  };
}

/**
 * nghttp2 holds a client to the announced limit only once it has acknowledged our SETTINGS, so the first requests of a
 * session are measured here.
 */
function headerBytes(request: Http2ServerRequest): number {
  let bytes = 0;
  for (const text of request.rawHeaders) bytes += text.length;
  return bytes;
}
