/**
 * What a proxy in front of the gateway says of its client: X-Forwarded-For, -Proto, -Host and -Prefix. Anybody can write
 * these headers, so they count only from proxies that the operator named.
 */
import { BlockList, isIP } from "node:net";
import type { CallRequest, HttpRequest } from "./http-handler.ts";

const addresses = new WeakMap<CallRequest, string>();

/** The address of the client: what {@link Forwarded.note} found, else the peer of the connection. */
export function clientAddress(request: CallRequest): string {
  return addresses.get(request) ?? plainAddress(request.socket?.remoteAddress ?? "");
}

/** Reads the forwarding headers of trusted proxies. */
export class Forwarded {
  readonly #trusted = new BlockList();
  readonly #any: boolean;

  /** Addresses and CIDR networks of the proxies. */
  constructor(trusted: readonly string[]) {
    this.#any = trusted.length > 0;
    for (const entry of trusted) {
      const [address = "", bits] = entry.split("/");
      const family = isIP(address) === 6 ? "ipv6" : "ipv4";
      if (bits === undefined) this.#trusted.addAddress(address, family);
      else this.#trusted.addSubnet(address, Number(bits), family);
    }
  }

  /** Remembers who the client of a request is, for {@link clientAddress}. */
  note(request: CallRequest): void {
    if (!this.#any) return;
    const peer = request.socket?.remoteAddress ?? "";
    addresses.set(request, this.client(peer, text(request, "x-forwarded-for")));
  }

  /** The client behind the peer of a connection, by its X-Forwarded-For. */
  client(peer: string, forwardedFor: string): string {
    let client = plainAddress(peer);
    if (!this.#any || !this.#has(client)) return client;
    // Each proxy appends its peer, so the first from the right that is no proxy of ours is the client.
    for (const hop of forwardedFor.split(",").map(bareAddress).reverse()) {
      if (isIP(hop) === 0) break;
      client = hop;
      if (!this.#has(hop)) break;
    }
    return client;
  }

  /** Base URL under which the client reached the gateway; undefined: no trusted proxy says so. */
  base(request: HttpRequest): string | undefined {
    if (!this.#isTrusted(request)) return undefined;
    const host = last(request, "x-forwarded-host");
    if (!/^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/.test(host)) return undefined;
    const encrypted = "encrypted" in request.socket && request.socket.encrypted === true;
    const proto = last(request, "x-forwarded-proto").toLowerCase() || (encrypted ? "https" : "http");
    if (proto !== "https" && proto !== "http") return undefined;
    const prefix = last(request, "x-forwarded-prefix").replace(/\/+$/, "");
    if (prefix !== "" && !/^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+$/.test(prefix)) return undefined;
    return `${proto}://${host}${prefix}`;
  }

  #isTrusted(request: HttpRequest): boolean {
    return this.#any && this.#has(plainAddress(request.socket?.remoteAddress ?? ""));
  }

  #has(address: string): boolean {
    const version = isIP(address);
    return version !== 0 && this.#trusted.check(address, version === 6 ? "ipv6" : "ipv4");
  }
}

function text(request: CallRequest, name: string): string {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(",") : (value ?? "");
}

/** Of a list, what the proxy next to us says. */
function last(request: HttpRequest, name: string): string {
  return text(request, name).split(",").at(-1)?.trim() ?? "";
}

/** An IPv4 peer of a socket that takes both families is written as IPv6. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}

/** Some proxies write a port behind the address. */
function bareAddress(hop: string): string {
  const bare = hop.trim().replace(/^\[([^\]]*)\](?::\d+)?$/, "$1");
  return plainAddress(/^[\d.]+:\d+$/.test(bare) ? bare.slice(0, bare.indexOf(":")) : bare);
}
