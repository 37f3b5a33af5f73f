import { COMMAND_VARIABLES, KEY_VARIABLES, WORK_VARIABLES } from "../../../config/environment.ts";
import type { Config } from "../../../config/schema.ts";
import type { Check } from "../check.ts";
import { type Finding, ok, warning } from "../finding.ts";

const KNOWN = [
  ...KEY_VARIABLES.flatMap(({ name }) => [name, `${name}_FILE`]),
  ...Object.keys(COMMAND_VARIABLES),
  ...WORK_VARIABLES,
];
/** What Kubernetes and Docker set for a service called `baton` or `baton-...`. */
const SERVICE_LINK = /^BATON_(\w+_)?(SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_(TCP|UDP)(_(ADDR|PORT|PROTO))?)$/;
const LINK_ADVICE = "Set enableServiceLinks: false in the pod, as the chart does.";

export const environment: Check = {
  name: "environment",
  about: "Every variable that begins with BATON_ is one that Baton reads, and none is said twice.",
  needs: [],
  run({ environment: variables, config }) {
    const named = namedVariables(config);
    const strange = Object.keys(variables).filter(
      (name) => name.startsWith("BATON_") && !KNOWN.includes(name) && !named.has(name),
    );
    const links = strange.filter((name) => SERVICE_LINK.test(name));
    const findings: Finding[] = strange
      .filter((name) => !links.includes(name))
      .map((name) => {
        const near = nearest(name);
        const advice = near === undefined ? "Remove it, or correct its name." : `Did you mean ${near}?`;
        return warning(`${name} is no variable that Baton reads`, advice);
      });
    if (links.length > 0) {
      findings.push(
        warning(
          `${links[0]} and the like come from a service called baton, and can pass for settings`,
          LINK_ADVICE,
        ),
      );
    }
    for (const { name } of KEY_VARIABLES) {
      if (!variables[name] || !variables[`${name}_FILE`]) continue;
      findings.push(
        warning(`${name} and ${name}_FILE are both set; the file is not read`, "Remove one of them."),
      );
    }
    return findings.length > 0 ? findings : [ok("every BATON_ variable is known")];
  },
};

/** Variables that the configuration names itself. */
function namedVariables(config: Config): ReadonlySet<string> {
  const found = config.cards.signing.flatMap(({ env }) => env ?? []);
  for (const { backend } of Object.values(config.agents)) {
    if (backend === "todo") continue;
    const callers = Object.values(backend.callers).flatMap(({ credential }) => credential ?? []);
    for (const source of [backend.credential, ...callers]) if ("env" in source) found.push(source.env);
  }
  return new Set(found);
}

/** A name that takes at most three letters to correct. */
function nearest(name: string): string | undefined {
  const ranked = KNOWN.map((known) => ({ known, far: distance(name, known) })).sort((a, b) => a.far - b.far);
  const [best] = ranked;
  return best !== undefined && best.far <= 3 ? best.known : undefined;
}

/** Levenshtein's: how many letters to add, drop or change. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, change));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
