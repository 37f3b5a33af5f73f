import system from "node:dns";
import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import type { Config } from "../../../config/schema.ts";
import type { Check } from "../check.ts";
import { type Finding, fault, isLoopback, ok, reason, warning } from "../finding.ts";

/** A name that nobody has (RFC 6761), so that asking for it tells nobody anything. */
const NOBODY = "baton.invalid";
/** What is no answer. That there is no such name, or that it may not be asked, is one. */
const SILENT = new Set(["ETIMEOUT", "ECONNREFUSED", "ECANCELLED", "EDESTRUCTION"]);

export const dns: Check = {
  name: "dns",
  about: "A name server answers.",
  needs: ["identity", "push"],
  async run({ config }, signal) {
    const servers = system.getServers();
    const needed = needsNames(config);
    const bad = needed === undefined ? warning : fault;
    const why = needed === undefined ? "" : `; ${needed} needs names`;
    const advice =
      "Correct /etc/resolv.conf, the container's DNS or the network policy (port 53, UDP and TCP).";
    if (servers.length === 0) return [bad(`no name server is configured${why}`, advice)];
    const silent: string[] = [];
    for (const server of servers) {
      const resolver = new Resolver({ timeout: 1000, tries: 2 });
      resolver.setServers([server]);
      signal.addEventListener("abort", () => resolver.cancel(), { once: true });
      try {
        await resolver.resolve4(NOBODY);
        break;
      } catch (error) {
        const code = reason(error);
        if (!SILENT.has(code)) break;
        silent.push(`${server} (${code})`);
      }
    }
    if (silent.length === servers.length) {
      return [bad(`no name server answers: ${silent.join(", ")}${why}`, advice)];
    }
    if (silent.length > 0) {
      return [
        warning(`a name server does not answer: ${silent.join(", ")}`, "Each look-up waits for it first."),
      ];
    }
    return [ok(`${servers[0]} answers`)];
  },
};

/** What in the configuration goes by names, beyond a receiver that somebody may register one day. */
function needsNames({ identity, push }: Config): string | undefined {
  if (identity.issuers.length > 0) return "identity.issuers";
  return push.enabled === true || push.secretKey !== undefined ? "push" : undefined;
}

export const publicUrl: Check = {
  name: "public address",
  about:
    "publicUrl is an address that clients can use: it resolves, and it is https where credentials travel far.",
  needs: ["publicUrl", "listen", "roles"],
  async run({ config }) {
    const { publicUrl: url, listen, roles } = config;
    if (!roles.includes("gateway")) return [ok("not used by these roles")];
    const far = !isLoopback(listen.host);
    if (url === undefined) {
      if (!far || listen.trustedProxies.length > 0) return [ok("cards say where the client called")];
      return [
        warning(
          "publicUrl is not given, so agent cards may name an address that clients cannot reach",
          "Set publicUrl (BATON_PUBLIC_URL), or listen.trustedProxies where a proxy tells the address.",
        ),
      ];
    }
    if (!URL.canParse(url)) return [fault("publicUrl is not an address", "Write it as https://host.")];
    const { protocol, hostname, origin } = new URL(url);
    const findings: Finding[] = [];
    if (protocol === "http:" && listen.tls !== undefined) {
      findings.push(
        fault(`publicUrl is ${origin}, but the port speaks TLS (listen.tls)`, "Write it with https://."),
      );
    } else if (protocol === "http:" && !isLoopback(hostname)) {
      findings.push(
        warning(
          `publicUrl is ${origin}: credentials travel in clear`,
          "Give Baton a certificate (listen.tls), or a proxy that has one, and write https://.",
        ),
      );
    }
    const name = hostname.replace(/^\[|\]$/g, "");
    if (isIP(name) === 0) {
      try {
        await lookup(name, { all: true });
      } catch (error) {
        findings.push(
          fault(
            `publicUrl: ${name} cannot be resolved (${reason(error)})`,
            "Correct it, or enter it in the DNS.",
          ),
        );
      }
    }
    return findings.length > 0 ? findings : [ok(`${origin} can be used`)];
  },
};
