import type { Environment } from "../../config/environment.ts";
import type { ReadConfig } from "../../config/load.ts";
import type { Finding } from "./finding.ts";

const SECRET_KEY = /^(token|password|secretKey|previousSecretKeys)$/;
const SECRET_VARIABLE = /TOKEN|PASSWORD|SECRET|CREDENTIAL|KEY/;
/** Shorter values would take words out of sentences. */
const SHORTEST = 4;

/** Everything that must not be told, however a library words its errors. */
export function secretsOf(read: ReadConfig, environment: Environment): ReadonlySet<string> {
  const found: string[] = [];
  gather(read.document, false, found);
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && SECRET_VARIABLE.test(name) && !name.endsWith("_FILE")) found.push(value);
  }
  return new Set(found.filter((secret) => secret.length >= SHORTEST));
}

export function withoutSecrets(finding: Finding, secrets: ReadonlySet<string>): Finding {
  const clean = (text: string) => {
    let cleaned = text;
    for (const secret of secrets) cleaned = cleaned.replaceAll(secret, "***");
    return cleaned;
  };
  const { outcome, found, advice } = finding;
  return { outcome, found: clean(found), ...(advice === undefined ? {} : { advice: clean(advice) }) };
}

function gather(value: unknown, secret: boolean, found: string[]): void {
  if (typeof value === "string") {
    if (secret) found.push(value);
    const password = /\/\/[^/@:]*:(\S*)@/.exec(value)?.[1];
    if (password !== undefined) found.push(password, safeDecode(password));
  } else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) gather(inner, secret || SECRET_KEY.test(key), found);
  }
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
