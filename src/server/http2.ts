import {
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { BatonError } from "../domain/errors.ts";
import type { Http2StreamHandler } from "../transports/grpc/handler.ts";
import { sendError } from "./error-response.ts";
import type { ListenerLimits } from "./limits.ts";
import { setSecurityHeaders } from "./security-headers.ts";

/** Serves the HTTP/2 connections that the listener hands over. It never listens itself. */
export interface Http2 {
  accept(socket: Socket): void;
  /**
   * Retires every session: GOAWAY with the id of the last stream that reached us, then the session ends by itself after
   * its last stream. Node's own `server.close()` does neither on an open session (G1). A stream that crosses the frame
   * is not processed, and its client knows that from the id, so that it may repeat the call elsewhere.
   *
   * RFC 9113 (6.8) advises a first GOAWAY that refuses nothing. nghttp2 can send one, Node's interface cannot: there
   * any GOAWAY is the final one for nghttp2, which then drops crossing streams until the second one tells of it.
   *
   * Sessions of grpc-js with calls in flight are told later, when those calls have ended or half of `graceMs` is over:
   * its first keepalive ping after a GOAWAY fails in the client and takes the calls along (G2).
   */
  drain(graceMs: number): void;
}

interface SessionState {
  streams: number;
  /** The client is one that a ping after GOAWAY makes drop its calls. */
  pingsKill: boolean;
}

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
    sessions.set(session, { streams: 0, pingsKill: false });
    session.once("close", () => sessions.delete(session));
    session.on("error", () => {
      // A broken peer ends its own session; there is nobody to tell.
    });
    session.setTimeout(limits.sessionIdleMs, () => {
      if (sessions.get(session)?.streams === 0) session.close();
    });
    if (draining) session.close();
  });

  const count = (stream: ServerHttp2Stream, userAgent: string | undefined): void => {
    // The session is typed for both sides; a request of a server is on a server session.
    const session = stream.session as ServerHttp2Session | undefined;
    const state = session === undefined ? undefined : sessions.get(session);
    if (session === undefined || state === undefined) return;
    state.streams += 1;
    state.pingsKill ||= String(userAgent).includes("grpc-node-js/");
    stream.once("close", () => {
      state.streams -= 1;
      if (draining && state.streams === 0) session.close();
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

  return {
    accept: (socket) => void server.emit("connection", socket),
    drain(graceMs) {
      draining = true;
      for (const [session, state] of sessions) {
        if (!state.pingsKill || state.streams === 0) session.close();
        else setTimeout(() => session.close(), graceMs / 2).unref();
      }
    },
  };
}

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
