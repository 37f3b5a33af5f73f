import { Command } from "commander";
import { stringify } from "yaml";
import { loadConfig } from "../../../config/load.ts";

/** Keys whose values are never printed, and an address that may hold a password. */
const SECRET = /^(token|password|secret|key)$/i;

export function configShowCommand(): Command {
  return new Command("show")
    .description("Print the whole configuration as it is used, without its secrets.")
    .option("--config <file>", "configuration file (BATON_CONFIG; default: baton.yaml, if there is one)")
    .option("--json", "print JSON instead of YAML")
    .action((options: { readonly config?: string; readonly json?: boolean }) => {
      const shown = withoutSecrets(loadConfig(options.config, process.env));
      process.stdout.write(options.json === true ? `${JSON.stringify(shown)}\n` : stringify(shown));
    });
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value === "string") return value.replace(/(\/\/[^/@]*:)[^/@]*@/, "$1***@");
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      SECRET.test(key) && typeof inner === "string" ? "***" : withoutSecrets(inner),
    ]),
  );
}
