import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Config } from "../config/schema.ts";
import { compilePolicy, EgressPolicyError, type EgressPolicyInput } from "../egress/index.ts";

/** What is wrong with the settings of the egress guard and its authorities: one line each, beginning with the setting. */
export function egressProblems(config: Pick<Config, "push" | "identity">): string[] {
  const { push, identity } = config;
  return [
    ...policyProblems("push", push.enabled === false ? undefined : push),
    ...policyProblems("identity", identity),
    ...push.caFiles.flatMap((file, index) => authorityProblems(`push.caFiles.${index}`, file)),
    ...identity.caFiles.flatMap((file, index) => authorityProblems(`identity.caFiles.${index}`, file)),
  ];
}

interface PolicySettings {
  readonly ports?: Config["push"]["ports"];
  readonly allow: Config["identity"]["allow"];
  readonly allowNames: readonly string[];
  readonly nat64Prefixes?: readonly string[];
}

/** Each entry by itself, so that the one at fault can be named. */
function policyProblems(section: string, settings: PolicySettings | undefined): string[] {
  if (settings === undefined) return [];
  const { ports = [443], allow, allowNames, nat64Prefixes = [] } = settings;
  const inputs: [setting: string, input: EgressPolicyInput][] = [
    [`${section}.ports`, { ports }],
    ...allow.map(({ cidr, ports: own }, index): [string, EgressPolicyInput] => [
      `${section}.allow.${index}`,
      { allow: [{ cidr, ...(own === undefined ? {} : { ports: own }) }] },
    ]),
    ...allowNames.map((name, index): [string, EgressPolicyInput] => [
      `${section}.allowNames.${index}`,
      { allowNames: [name] },
    ]),
    ...nat64Prefixes.map((prefix, index): [string, EgressPolicyInput] => [
      `${section}.nat64Prefixes.${index}`,
      { nat64Prefixes: [prefix] },
    ]),
  ];
  return inputs.flatMap(([setting, input]) => {
    try {
      compilePolicy(input);
      return [];
    } catch (error) {
      if (error instanceof EgressPolicyError) return [`${setting}: ${error.message}`];
      throw error;
    }
  });
}

function authorityProblems(setting: string, file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
    return [`${setting}: ${file} cannot be read${code}`];
  }
  try {
    new X509Certificate(text);
    return [];
  } catch {
    return [`${setting}: ${file} holds no certificate in PEM form`];
  }
}
