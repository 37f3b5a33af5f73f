import {
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { BatonError } from "../domain/errors.ts";
import type { Http2StreamHandler } from "../transports/grpc/handler.ts";
import { sendError } from "./error-response.ts";
import type { ListenerLimits } from "./limits.ts";
import { setSecurityHeaders } from "./security-headers.ts";

/** Serves the HTTP/2 connections that the listener hands over. It never listens itself. */
export interface Http2 {
  accept(socket: Socket): void;
  /**
   * Retires every session in the two steps that RFC 9113 (6.8) advises. First a notice: a GOAWAY that refuses nothing,
   * after which the client opens no stream here, while those that cross the notice are served. Then the GOAWAY with the
   * id of the last stream, and the session ends by itself after its last stream. Node's own `server.close()` does neither
   * on an open session (G1). TLS sessions get the second step alone: there a crossing stream is refused, and its client
   * knows from the id that the call was not processed and may be repeated elsewhere.
   *
   * Sessions of grpc-js with calls in flight are told when the calls that were there at the begin of the drain have
   * ended, or half of `graceMs` is over: its first keepalive ping after a GOAWAY fails in the client and takes the calls
   * along (G2).
   */
  drain(graceMs: number): void;
  /** Stops the timers. */
  close(): void;
}

interface SessionState {
  readonly socket: Socket | undefined;
  streams: number;
  /** Of them, those that began before the drain. */
  early: number;
  /** The client has acknowledged our SETTINGS, which must be the first frame that it gets. */
  greeted: boolean;
  retiring: boolean;
  /** The client is one that a ping after GOAWAY makes drop its calls. */
  pingsKill: boolean;
}

/** How long calls may cross the notice, in milliseconds: more than a round trip to the balancer in front. */
const NOTICE_MS = 500;

/** GOAWAY, NO_ERROR, with the highest id that there is: `nghttp2_submit_shutdown_notice`, which Node does not expose. */
const NOTICE = Buffer.from("0000080700000000007fffffff00000000", "hex");

/**
 * Pings of clients are answered by nghttp2 and never counted against them, with or without calls: gRPC clients behind
 * balancers ping every 10 to 30 s, and a strike would cost them all their calls (G7). Floods are bounded by nghttp2's
 * own limit on queued acknowledgements.
 */
export function createHttp2(
  limits: ListenerLimits,
  onRequest: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
  onStream: Http2StreamHandler,
): Http2 {
  const sessions = new Map<ServerHttp2Session, SessionState>();
  let draining = false;
  let noticeMs = NOTICE_MS;
  /** The socket whose session Node is making. */
  let incoming: Socket | undefined;

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
    const state = {
      socket: incoming,
      streams: 0,
      early: 0,
      greeted: false,
      retiring: false,
      pingsKill: false,
    };
    sessions.set(session, state);
    session.once("localSettings", () => {
      state.greeted = true;
    });
    session.once("close", () => sessions.delete(session));
    session.on("error", () => {
      // A broken peer ends its own session; there is nobody to tell.
    });
    session.setTimeout(limits.sessionIdleMs, () => {
      if (sessions.get(session)?.streams === 0) session.close();
    });
    if (draining) retire(session, state);
  });

  const retire = (session: ServerHttp2Session, state: SessionState): void => {
    if (state.retiring) return;
    state.retiring = true;
    const { socket } = state;
    // Node writes to a plain socket whole frames at a time, and the system keeps the order. TLS takes one writer only.
    const canNotice = socket !== undefined && !(socket instanceof TLSSocket) && socket.writable;
    if (!canNotice) {
      session.close();
      return;
    }
    if (state.greeted) socket.write(NOTICE);
    setTimeout(() => session.close(), noticeMs).unref();
  };

  const count = (stream: ServerHttp2Stream, userAgent: string | undefined): void => {
    // The session is typed for both sides; a request of a server is on a server session.
    const session = stream.session as ServerHttp2Session | undefined;
    const state = session === undefined ? undefined : sessions.get(session);
    if (session === undefined || state === undefined) return;
    const early = draining ? 0 : 1;
    state.streams += 1;
    state.early += early;
    state.pingsKill ||= String(userAgent).includes("grpc-node-js/");
    // Closed once; `once` would take itself away from each stream, which costs as much again.
    stream.on("close", () => {
      state.streams -= 1;
      state.early -= early;
      if (draining && state.early === 0) retire(session, state);
    });
  };

  const serve = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    if (headerBytes(request) > limits.maxHeaderBytes) {
      setSecurityHeaders(response);
      request.resume();
      sendError(response, new BatonError("InvalidRequest", "the headers are too large"), 431);
      return;
    }
    onRequest(request, response);
  };
  server.on("request", serve);
  // Node builds its request and response objects in a listener that the line above has added. A stream that is taken
  // before needs none of them, and they cost more than the call itself.
  const [compat] = server.listeners("stream");
  if (compat === undefined) throw new Error("this version of Node serves HTTP/2 requests in another way");
  server.removeAllListeners("stream");
  server.on("stream", (stream, headers, flags, rawHeaders: readonly string[]) => {
    count(stream, headers["user-agent"]);
    if (bytesOf(rawHeaders) <= limits.maxHeaderBytes && onStream(stream, headers)) return;
    compat.call(server, stream, headers, flags, rawHeaders);
  });
  server.on("connect", serve);
  server.on("checkExpectation", serve);
  server.on("sessionError", () => {
    // Reported on the session as well.
  });

  const pings = setInterval(() => {
    for (const [session, { streams }] of sessions) {
      if (streams > 0 && !session.closed && !session.destroyed) session.ping(ignore);
    }
  }, limits.pingMs);
  pings.unref();

  return {
    close: () => clearInterval(pings),
    accept(socket) {
      incoming = socket;
      server.emit("connection", socket);
      incoming = undefined;
    },
    drain(graceMs) {
      draining = true;
      noticeMs = Math.min(NOTICE_MS, graceMs / 4);
      for (const [session, state] of sessions) {
        if (!state.pingsKill || state.early === 0) retire(session, state);
        else setTimeout(() => retire(session, state), graceMs / 2).unref();
      }
    },
  };
}

/** An answer that never comes is a dead connection, which ends by itself. */
function ignore(): void {}

/**
 * nghttp2 holds a client to the announced limit only once it has acknowledged our SETTINGS, so the first requests of a
 * session are measured here.
 */
function headerBytes(request: Http2ServerRequest): number {
  return bytesOf(request.rawHeaders);
}

function bytesOf(rawHeaders: readonly string[]): number {
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}
