import { readFileSync } from "node:fs";
import { OpenWopClient } from "../../../backends/openwop/client/client.ts";
import { HostRefusal } from "../../../backends/openwop/client/errors.ts";
import { HostCredentials } from "../../../backends/openwop/credentials.ts";
import type { OpenWopConfig } from "../../../config/openwop.ts";
import { compilePolicy, createEgressClient } from "../../../egress/index.ts";
import { IssuerKeys } from "../../../identity/issuer-keys.ts";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, reason } from "../finding.ts";

const LIMIT_MS = 15_000;

export const issuers: Check = {
  name: "issuers",
  about: "Each OpenID Connect issuer can be reached through the egress guard, and has keys.",
  needs: ["identity"],
  limitMs: LIMIT_MS,
  async run({ config }) {
    const { issuers: all, allow, allowNames, caFiles } = config.identity;
    if (all.length === 0) return [ok("none is trusted")];
    const egress = createEgressClient({
      policy: compilePolicy({
        allow: allow.map(({ cidr, ports }) => ({ cidr, ...(ports === undefined ? {} : { ports }) })),
        allowNames,
      }),
      extraCa: caFiles.map((file) => readFileSync(file, "utf8")),
      timeouts: { totalMs: 5000 },
    });
    try {
      return await Promise.all(
        all.map(async ({ issuer, jwksUrl }) => {
          try {
            const count = await new IssuerKeys({ issuer, jwksUrl, egress, keepMs: 0 }).count();
            return count > 0
              ? ok(`${issuer} has ${count} keys`)
              : fault(`${issuer} publishes no keys`, "Its tokens cannot be checked until it does.");
          } catch (error) {
            return fault(
              `the keys of ${issuer} cannot be had: ${why(error)}`,
              "Correct identity.issuers; for an issuer in your own network see identity.allow, allowNames and caFiles.",
            );
          }
        }),
      );
    } finally {
      await egress.close();
    }
  },
};

/** The guard and the client say more than a code. */
function why(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : reason(cause);
}

export const openwopHosts: Check = {
  name: "openwop hosts",
  about: "Each OpenWOP host can be reached, speaks the configured major, and there is a credential for it.",
  needs: ["agents"],
  limitMs: LIMIT_MS,
  async run({ config, environment }) {
    const hosts = Object.entries(config.agents).flatMap(([agent, { backend }]) =>
      backend === "todo" ? [] : [{ agent, backend }],
    );
    if (hosts.length === 0) return [ok("no agent works on one")];
    const findings = await Promise.all(
      hosts.map(async ({ agent, backend }) => [
        ...credentialFindings(agent, backend, environment),
        await hostFinding(agent, backend),
      ]),
    );
    return findings.flat();
  },
};

function credentialFindings(
  agent: string,
  backend: OpenWopConfig,
  environment: Readonly<Record<string, string | undefined>>,
): Finding[] {
  try {
    new HostCredentials(backend, environment).check();
    return [];
  } catch (error) {
    const what = error instanceof Error ? error.message : "a credential is missing";
    return [
      fault(
        `agents.${agent}.backend: ${what}`,
        "Set the variable or the file with the credential; `baton serve` does not start without.",
      ),
    ];
  }
}

async function hostFinding(agent: string, { url, major }: OpenWopConfig): Promise<Finding> {
  const what = `agents.${agent}.backend.url: ${url}`;
  const client = new OpenWopClient({ url, major, timeoutMs: 4000, budgetMs: 5000, maxConnections: 1 });
  try {
    const version = await client.protocolVersion();
    if (Number.parseInt(version ?? "", 10) === major) return ok(`${url} speaks OpenWOP ${version}`);
    return fault(
      `${what} speaks OpenWOP ${version ?? "of an unknown version"}, agents.${agent}.backend.major is ${major}`,
      "Correct major, or bring the host up to it.",
    );
  } catch (error) {
    if (error instanceof HostRefusal) {
      return fault(
        `${what} refuses OpenWOP ${major} (HTTP ${error.status})`,
        "Correct the address, or major. Is it an OpenWOP host?",
      );
    }
    return fault(`${what} cannot be reached (${reason(error)})`, "Start the host, or correct the address.");
  } finally {
    await client.close();
  }
}
