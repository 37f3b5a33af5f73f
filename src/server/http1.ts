import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { BatonError } from "../domain/errors.ts";
import { rawErrorResponse, sendError } from "./error-response.ts";
import { keepAliveHint, type ListenerLimits } from "./limits.ts";
import { SecuredResponse } from "./secured-response.ts";

const TIMED_OUT = "ERR_HTTP_REQUEST_TIMEOUT";

/** Serves the HTTP/1.1 connections that the listener hands over by emitting `connection`. It never listens itself. */
export interface Http1 {
  readonly server: Server;
  /** Answers a connection whose first request did not come in time. */
  expire(socket: Socket): void;
  /** From now on each response closes its connection, so that clients connect anew, elsewhere. */
  retire(): void;
  /** The same, and connections are closed as soon as they are idle. */
  drain(): void;
  /** Stops the timers. */
  close(): void;
}

export function createHttp1(
  limits: ListenerLimits,
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
): Http1 {
  let retiring = false;
  let draining = false;
  /** The last response begun on each connection, for errors that come after it. */
  const current = new WeakMap<object, ServerResponse>();

  const unanswered = new Set<ServerResponse>();

  const server = createServer({
    ServerResponse: SecuredResponse,
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: Math.max(limits.requestTimeoutMs, limits.headersTimeoutMs),
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(limits.headersTimeoutMs / 2)),
    // Checked below, where the answer carries the security headers.
    requireHostHeader: false,
  });

  function closed(this: ServerResponse): void {
    unanswered.delete(this);
    // A stream that said before the drain that its connection stays: the end comes with its last bytes, before the
    // client can choose the connection for its next request.
    if (draining) this.req.socket.end();
  }

  const hint = keepAliveHint(limits);
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    // Sent before its client saw that a drain ended the connection: nobody would get the answer, so nothing must be done.
    if (draining && !request.socket.writable) {
      request.resume();
      return;
    }
    current.set(request.socket, response);
    unanswered.add(response);
    response.on("close", closed);
    if (retiring) response.shouldKeepAlive = false;
    else if (hint !== undefined) response.setHeader("keep-alive", hint);
    onRequest(request, response);
  };
  server.on("request", serve);
  server.on("checkExpectation", serve);
  // No `upgrade` listener on purpose: Node then ignores the header and serves the request as HTTP/1.1, which is what
  // RFC 9113 (3.1) and RFC 9110 (7.8) ask of a server that does not take up `Upgrade: h2c`.

  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const response = current.get(socket);
    const due = response !== undefined && !response.writableFinished && !response.destroyed;
    if (due && !response.headersSent && error.code !== TIMED_OUT) {
      // The answer to an earlier request of the pipeline is still due: give it, then close.
      response.shouldKeepAlive = false;
      return;
    }
    if ((due && response.headersSent) || error.code === "ECONNRESET" || !socket.writable) socket.destroy();
    else socket.end(rawErrorResponse(...refusal(error)), () => socket.destroy());
  });

  // Node starts the supervision of header and request times when the server listens. This one never does.
  server.emit("listening");

  const retire = (): void => {
    retiring = true;
    // Has no effect on those whose headers are out.
    for (const response of unanswered) response.shouldKeepAlive = false;
  };

  return {
    server,
    expire(socket) {
      const error: NodeJS.ErrnoException = new Error("no request came");
      error.code = TIMED_OUT;
      server.emit("clientError", error, socket);
    },
    retire,
    drain() {
      retire();
      draining = true;
      // Right after all that has arrived was read: whose next request is here is not idle.
      setImmediate(() => server.closeIdleConnections());
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function refusal(error: NodeJS.ErrnoException): [status: number, error: BatonError] {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return [431, new BatonError("InvalidRequest", "the headers are too large")];
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return [413, new BatonError("PayloadTooLarge", "the chunk extensions are too large")];
    case TIMED_OUT:
      return [408, new BatonError("InvalidRequest", "the request took too long to arrive")];
    default:
      return [400, new BatonError("InvalidRequest", "this is not a valid HTTP request")];
  }
}

/** What HTTP/1.1 itself asks of a request; answers and returns false where it is not met. */
export function acceptable(request: IncomingMessage, response: ServerResponse): boolean {
  const { host, expect } = request.headers;
  if (host === undefined && request.httpVersion === "1.1") {
    response.shouldKeepAlive = false;
    sendError(response, new BatonError("InvalidRequest", "the Host header is missing"));
    return false;
  }
  if (expect !== undefined && expect.toLowerCase() !== "100-continue") {
    response.shouldKeepAlive = false;
    sendError(response, new BatonError("InvalidRequest", "this expectation cannot be met"), 417);
    return false;
  }
  return true;
}
