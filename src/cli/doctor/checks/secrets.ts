import { readSecretKey } from "../../../push/secret-box.ts";
import { configuredTarget } from "../../../server/redis-source.ts";
import { loadSigningKeys } from "../../../service/card-keys.ts";
import type { Check } from "../check.ts";
import { type Finding, fault, isLoopback, ok, warning } from "../finding.ts";

export const pushKey: Check = {
  name: "push key",
  about: "There is a key to seal the credentials of push receivers with, and it can be used.",
  needs: ["push", "redis"],
  run({ config }) {
    const { enabled, secretKey, previousSecretKeys } = config.push;
    if (enabled === false) return [ok("not used: push.enabled is false")];
    const keys = [
      ...(secretKey === undefined ? [] : [{ setting: "push.secretKey (BATON_SECRET_KEY)", key: secretKey }]),
      ...previousSecretKeys.map((key, index) => ({ setting: `push.previousSecretKeys.${index}`, key })),
    ];
    const make = "Make one with `openssl rand -base64 32`, the same for every replica.";
    const findings: Finding[] = keys.flatMap(({ setting, key }) => {
      try {
        readSecretKey(key);
        return [];
      } catch {
        return [fault(`${setting} is not 32 bytes in base64`, make)];
      }
    });
    if (secretKey === undefined && configuredTarget(config) !== undefined) {
      const found = "push.secretKey (BATON_SECRET_KEY) is missing, which a Redis that is not embedded needs";
      findings.push(
        enabled === true
          ? fault(`${found}: \`baton serve\` does not start`, make)
          : warning(`${found}: push notifications are off`, `${make} Or say push.enabled: false.`),
      );
    }
    return findings.length > 0 ? findings : [ok("push notifications can be offered")];
  },
};

export const cardKeys: Check = {
  name: "card keys",
  about: "Each key that signs agent cards can be read.",
  needs: ["cards"],
  run({ config, environment }) {
    const { signing } = config.cards;
    if (signing.length === 0) return [ok("cards are not signed")];
    const findings = signing.flatMap((each) => {
      try {
        loadSigningKeys([each], environment);
        return [];
      } catch (error) {
        const why = error instanceof Error ? error.message : "cannot be read";
        return [fault(`cards.signing: ${why}`, "Correct it; `baton serve` does not start with it.")];
      }
    });
    return findings.length > 0 ? findings : [ok(`${signing.length} keys sign cards`)];
  },
};

/** Fewer different characters are a word or a pattern. */
const FEWEST_DIFFERENT = 10;
const SHORT = 24;
const WORDS = /changeme|change-me|password|passw0rd|secret|admin|baton|test|example|1234/i;

export const adminToken: Check = {
  name: "admin credential",
  about:
    "The admin credential cannot be guessed, and is one of the operator's where others can reach the admin port.",
  needs: ["admin"],
  run({ config }) {
    const { host, token } = config.admin;
    const far = !isLoopback(host);
    if (token === undefined) {
      if (!far) return [ok("made at the first start, and kept in the data folder")];
      return [
        warning(
          `admin.token is not given, and admin.host ${host} can be reached from elsewhere: each data folder gets a credential of its own`,
          "Set BATON_ADMIN_TOKEN, or BATON_ADMIN_TOKEN_FILE: `openssl rand -base64 32`.",
        ),
      ];
    }
    const weak = token.length < SHORT || new Set(token).size < FEWEST_DIFFERENT || WORDS.test(token);
    if (!weak) return [ok("given, and long enough")];
    return [
      (far ? fault : warning)(
        `admin.token (BATON_ADMIN_TOKEN) can be guessed${far ? `, and admin.host ${host} can be reached from elsewhere` : ""}`,
        "Take a random one: `openssl rand -base64 32`.",
      ),
    ];
  },
};
