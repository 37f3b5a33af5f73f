/**
 * The one port of Baton: HTTP/1.1 and HTTP/2 in cleartext, told apart by their first bytes, or both over TLS by ALPN.
 * Bounds, security headers and the drain are here; what is served is up to the handlers.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { type AddressInfo, createServer, isIPv6, type Server, type Socket } from "node:net";
import { setImmediate as immediate } from "node:timers/promises";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { Http2StreamHandler } from "../transports/grpc/handler.ts";
import type { HttpHandler } from "../transports/http-handler.ts";
import { InFlight } from "./drain.ts";
import { acceptable, createHttp1 } from "./http1.ts";
import { createHttp2 } from "./http2.ts";
import { createLeanHttp1, type LeanCalls } from "./lean-http1/server.ts";
import { DEFAULT_LIMITS, type ListenerLimits } from "./limits.ts";
import type { ServerLog } from "./log.ts";
import { route } from "./routes.ts";
import { setSecurityHeaders } from "./security-headers.ts";
import { sniff } from "./sniff.ts";
import { cutStalledAnswers } from "./stalled-answers.ts";

export interface TlsMaterial {
  /** Certificate chain, PEM. */
  readonly cert: string | Buffer;
  /** Private key, PEM. */
  readonly key: string | Buffer;
}

export interface ListenerOptions {
  /** Address to bind; `::` takes IPv4 as well where the system allows it. */
  readonly host: string;
  /** TCP port; 0 lets the system choose. Baton's own default is 7420. */
  readonly port: number;
  /** Bind beside other processes that do so, too; the system deals the connections out. */
  readonly reusePort?: boolean;
  /** With it the port speaks TLS and nothing else; without it cleartext and nothing else. */
  readonly tls?: TlsMaterial;
  /** Asked in this order; the first that answers true owns the request. */
  readonly handlers: readonly HttpHandler[];
  /** Asked before `handlers` of each HTTP/2 stream. They set the security headers themselves. */
  readonly streamHandlers?: readonly Http2StreamHandler[];
  /** Calls that are served without Node's HTTP where they come over HTTP/1.1; absent: none. */
  readonly leanCalls?: LeanCalls;
  readonly limits?: Partial<ListenerLimits>;
  readonly log?: ServerLog;
}

export interface Listener {
  /** Base URL without a trailing slash; a wildcard address is shown as loopback. */
  readonly url: string;
  readonly port: number;
  /** The bound address. */
  readonly address: string;
  /** Requests whose responses have not ended. */
  readonly inFlight: number;
  /** Connections that are open. */
  readonly connections: number;
  /** Serves on, but has HTTP/1.1 clients connect anew for their next request: before a drain, while balancers learn of it. */
  retire(): void;
  /**
   * Stops taking connections, tells every client to go elsewhere, and waits for what is in flight, at most `graceMs`;
   * then whatever is left is cut. Ending streams in good time is up to the handlers.
   */
  drain(graceMs: number): Promise<void>;
  /** Cuts every connection now. */
  close(): Promise<void>;
}

/** How long connections may take to close by themselves once no request is left on them. */
const LINGER_MS = 1_000;

/** How long a connection may take at a drain to say which protocol it speaks. */
const UNDECIDED_MS = 500;

/** Rejects when the address cannot be bound, with the error of `listen`. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const limits: ListenerLimits = { ...DEFAULT_LIMITS, ...options.limits };
  const inFlight = new InFlight();
  const serve = route(options.handlers, options.log);

  const admit = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): void => {
    inFlight.add(response);
    // A peer that goes away must cost no more than its own request.
    request.on("error", ignore);
    response.on("error", ignore);
    void serve(request, response);
  };
  const http1 = createHttp1(limits, (request, response) => {
    if (acceptable(request, response)) admit(request, response);
  });
  const onHttp2 = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    setSecurityHeaders(response);
    admit(request, response);
  };
  const http2 = createHttp2(limits, onHttp2, (stream, headers) => {
    for (const handle of options.streamHandlers ?? []) {
      if (!handle(stream, headers)) continue;
      inFlight.add(stream);
      return true;
    }
    return false;
  });

  const sockets = new Set<Socket>();
  const undecided = new Set<Socket>();
  function forget(this: Socket): void {
    sockets.delete(this);
    undecided.delete(this);
  }
  const toNode = (socket: Socket | TLSSocket): void => {
    http1.server.emit("connection", socket);
    // Node feeds its parser from the TLS layer directly, which goes on while the parser is paused, as it is while an earlier
    // answer is being written: what arrives then is lost, and the request hangs. A listener of the data makes Node feed it
    // through the stream, which stops and keeps what has come.
    if ("encrypted" in socket) socket.on("data", ignore);
    // The HTTP/1.1 parser reads the stream, which was paused; HTTP/2 takes the buffered bytes itself.
    socket.resume();
  };
  const { leanCalls: calls, log } = options;
  const lean =
    calls === undefined
      ? undefined
      : createLeanHttp1({ calls, limits, node: http1, inFlight, log, leave: toNode });
  const hand = (socket: Socket | TLSSocket, protocol: "h1" | "h2"): void => {
    if (protocol === "h2") http2.accept(socket);
    else if (lean === undefined) toNode(socket);
    else lean.accept(socket);
  };

  const server = options.tls === undefined ? createServer({ noDelay: true }) : tlsServer(options.tls, limits);
  server.maxConnections = limits.maxConnections;
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", forget);
    socket.on("error", ignore);
    if (options.tls !== undefined) return;
    undecided.add(socket);
    sniff(socket, limits.sniffTimeoutMs, (protocol) => {
      undecided.delete(socket);
      hand(socket, protocol);
    });
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    socket.on("error", ignore);
    hand(socket, socket.alpnProtocol === "h2" ? "h2" : "h1");
  });
  server.on("tlsClientError", (_error: Error, socket: TLSSocket) => socket.destroy());
  server.on("drop", () =>
    options.log?.warn({ limit: limits.maxConnections }, "connection dropped: too many"),
  );

  await listen(server, options);
  server.on("error", (error) => options.log?.error({ err: error }, "the listener failed"));
  // A TCP server that listens has an AddressInfo; the other forms are of pipes and closed servers.
  const bound = server.address() as AddressInfo;

  const stopCutting = cutStalledAnswers(inFlight, limits.stallMs);

  const close = async (): Promise<void> => {
    stopCutting();
    const closed = stopAccepting(server);
    for (const socket of sockets) socket.destroy();
    http1.close();
    http2.close();
    await closed;
  };

  return {
    url: urlOf(options.tls === undefined ? "http" : "https", bound),
    port: bound.port,
    address: bound.address,
    get inFlight() {
      return inFlight.size;
    },
    get connections() {
      return sockets.size;
    },
    retire() {
      http1.retire();
      lean?.retire();
    },
    async drain(graceMs) {
      const deadline = Date.now() + graceMs;
      // Whoever waits at the door is let in first: a system resets what a closed one had not accepted.
      await immediate();
      void stopAccepting(server);
      // Those that have just connected may have a request under way; what has arrived is read before it is judged.
      setTimeout(() => {
        setImmediate(() => {
          for (const socket of undecided) socket.destroy();
        });
      }, UNDECIDED_MS).unref();
      http1.drain();
      lean?.drain();
      http2.drain(graceMs);
      const left = () => Math.max(0, deadline - Date.now());
      do {
        await inFlight.settled(left());
        if (inFlight.size === 0) await allClosed(sockets, Math.min(LINGER_MS, left()));
      } while (inFlight.size > 0 && left() > 0);
      if (inFlight.size > 0) {
        options.log?.warn({ cut: inFlight.size }, "the drain ran out of time: cutting what is left");
      }
      await close();
    },
    close,
  };
}

function ignore(): void {}

function tlsServer(tls: TlsMaterial, limits: ListenerLimits): Server {
  return createTlsServer({
    cert: tls.cert,
    key: tls.key,
    ALPNProtocols: ["h2", "http/1.1"],
    minVersion: "TLSv1.2",
    handshakeTimeout: limits.sniffTimeoutMs,
    noDelay: true,
  });
}

function listen(server: Server, { host, port, reusePort = false }: ListenerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, reusePort, backlog: 1024 }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function stopAccepting(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // Calls back with an error when it is closed already, which is as good.
    server.close(() => resolve());
  });
}

function sleepUntil(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, time - Date.now())).unref());
}

/** Resolves when every connection has ended, at the latest after `ms`. */
async function allClosed(sockets: ReadonlySet<Socket>, ms: number): Promise<void> {
  const ends = [...sockets].map(
    (socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())),
  );
  await Promise.race([Promise.all(ends), sleepUntil(Date.now() + ms)]);
}

function urlOf(scheme: string, { address, port }: AddressInfo): string {
  if (address === "0.0.0.0" || address === "::") return `${scheme}://127.0.0.1:${port}`;
  return `${scheme}://${isIPv6(address) ? `[${address}]` : address}:${port}`;
}
