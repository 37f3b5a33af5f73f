import { connect as connectTcp, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, type SecureContext, type TLSSocket } from "node:tls";
import type { buildConnector } from "undici";
import { equalBytes, mappedV4, parseAddress } from "./address.ts";
import type { EgressFailureReason } from "./errors.ts";

/** Where one connection pool may connect to: fixed when the pool is made, never looked up again. */
export interface PinnedDestination {
  readonly scheme: "https" | "http";
  /** For SNI, the certificate and the Host header. */
  readonly host: string;
  readonly hostIsAddress: boolean;
  readonly port: number;
  /** Canonical text of the checked address: the only one that is dialled. */
  readonly address: string;
}

/** No byte of a request was written. */
export class DialError extends Error {
  override readonly name = "DialError";
  readonly reason: EgressFailureReason;
  readonly code: string | undefined;

  constructor(reason: EgressFailureReason, code?: string) {
    super(reason);
    this.reason = reason;
    this.code = code;
  }
}

const CERTIFICATE_CODE = /CERT|ISSUER|SELF_SIGNED|VERIFY|CRL|HOSTNAME/;

/**
 * A connector for undici that dials one checked address.
 * @param timeoutMs limit for TCP and TLS together
 * @param open holds the sockets that are being connected, so that a pool that is thrown away can end them
 */
export function pinnedConnector(
  destination: PinnedDestination,
  trust: SecureContext,
  timeoutMs: number,
  open: Set<Socket>,
): buildConnector.connector {
  return (_options, callback) => {
    const socket = openSocket(destination, trust);
    open.add(socket);
    let phase: "connect" | "tls" = "connect";
    const settle = (error: DialError | null) => {
      clearTimeout(timer);
      open.delete(socket);
      socket.off("error", onError).off("close", onClose).off("connect", onConnect).off(ready, onReady);
      if (error === null) return callback(null, socket);
      // A late error of a socket that nobody holds any more must not become an uncaught one.
      socket.on("error", () => undefined).destroy();
      callback(error, null);
    };
    const onError = (error: NodeJS.ErrnoException) => settle(dialError(error.code, phase));
    const onClose = () => settle(dialError("ECONNRESET", phase));
    const onConnect = () => {
      if (!isPinned(socket, destination)) settle(new DialError("connect_failed", "EADDRESS"));
      phase = "tls";
    };
    const onReady = () => settle(null);
    const ready = destination.scheme === "https" ? "secureConnect" : "ready";
    const timer = setTimeout(
      () => settle(new DialError(phase === "connect" ? "connect_timeout" : "tls_failed", "ETIMEDOUT")),
      timeoutMs,
    );
    socket.on("error", onError).on("close", onClose).on("connect", onConnect).on(ready, onReady);
  };
}

function openSocket(destination: PinnedDestination, trust: SecureContext): Socket | TLSSocket {
  const { address, port, host, hostIsAddress } = destination;
  // `host` is an address, so Node looks nothing up; should that ever change, the lookup fails instead of asking DNS.
  const pinned = { host: address, port, lookup: refuseLookup, autoSelectFamily: false, noDelay: true };
  if (destination.scheme === "http") return connectTcp(pinned);
  return connectTls({
    ...pinned,
    secureContext: trust,
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot switch it off.
    rejectUnauthorized: true,
    // An IP literal has no SNI; its certificate is then compared with `host`, which is that same address.
    ...(hostIsAddress ? {} : { servername: host }),
    ALPNProtocols: ["http/1.1"],
  });
}

const refuseLookup: LookupFunction = (_name, _options, callback) => {
  callback(new DialError("connect_failed", "ELOOKUP"), "");
};

/** What the kernel connected to is what was checked. */
function isPinned(socket: Socket, destination: PinnedDestination): boolean {
  const remote = parseAddress((socket.remoteAddress ?? "").split("%")[0] ?? "");
  const wanted = parseAddress(destination.address);
  if (remote === undefined || wanted === undefined) return false;
  return equalBytes(mappedV4(remote) ?? remote, mappedV4(wanted) ?? wanted);
}

function dialError(code: string | undefined, phase: "connect" | "tls"): DialError {
  if (phase === "connect")
    return new DialError(code === "ETIMEDOUT" ? "connect_timeout" : "connect_failed", code);
  return new DialError(CERTIFICATE_CODE.test(code ?? "") ? "tls_certificate" : "tls_failed", code);
}
