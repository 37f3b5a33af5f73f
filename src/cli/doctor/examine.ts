import type { Environment } from "../../config/environment.ts";
import { parseConfig, readConfig } from "../../config/load.ts";
import type { Check, Patient } from "./check.ts";
import { type Finding, fault, reason, skipped } from "./finding.ts";
import { viewRedis } from "./redis-view.ts";
import { secretsOf, withoutSecrets } from "./secrets.ts";

const LIMIT_MS = 5000;

export interface Result extends Finding {
  readonly check: string;
}

export interface Examination {
  readonly file?: string | undefined;
  readonly checks: readonly Check[];
  readonly environment: Environment;
}

/** Makes every check, all at once, each within its own time. A check that fails is a fault and stops no other. */
export async function examine({ file, checks, environment }: Examination): Promise<Result[]> {
  const read = readConfig(file, environment);
  const config = read.usable;
  const secrets = secretsOf(read, environment);
  let view: ReturnType<typeof viewRedis> | undefined;
  const redis = () => {
    view ??= viewRedis(config ?? parseConfig({}));
    return view;
  };
  const patient: Patient = { config: config ?? parseConfig({}), read, environment, redis };
  const results = await Promise.all(
    checks.map(async (check) => {
      const missing = check.needs.find((section) => config === undefined || read.sections.has(section));
      const findings =
        missing === undefined
          ? await within(check, patient)
          : [skipped(`${missing} has faults: see the configuration`)];
      return findings.map((finding) => ({ check: check.name, ...withoutSecrets(finding, secrets) }));
    }),
  );
  return results.flat();
}

async function within(check: Check, patient: Patient): Promise<readonly Finding[]> {
  const { limitMs = LIMIT_MS } = check;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), limitMs);
  const tooLate = new Promise<readonly Finding[]>((resolve) => {
    late.signal.addEventListener("abort", () =>
      resolve([
        fault(
          `there was no answer within ${limitMs / 1000} s`,
          "Look at the network between here and there: packets that are dropped without a word look like this.",
        ),
      ]),
    );
  });
  try {
    return await Promise.race([Promise.resolve(check.run(patient, late.signal)), tooLate]);
  } catch (error) {
    return [
      fault(
        `the check itself failed: ${reason(error)}`,
        "Please tell us, with the output of `baton doctor --output json`.",
      ),
    ];
  } finally {
    clearTimeout(timer);
  }
}
