import { Command } from "commander";
import { stringify } from "yaml";
import { loadConfig } from "../../../config/load.ts";
import { type OutputOptions, withOutput } from "../../output.ts";

/** Keys whose values are never printed. */
const SECRET = /^(token|password|secretKey|previousSecretKeys|headers)$/;

export function configShowCommand(): Command {
  return withOutput(new Command("show"))
    .description("Print the whole configuration as it is used, without its secrets.")
    .option("--config <file>", "configuration file (BATON_CONFIG; default: baton.yaml, if there is one)")
    .action((options: OutputOptions & { readonly config?: string }) => {
      const shown = withoutSecrets(loadConfig(options.config, process.env));
      process.stdout.write(options.json === true ? `${JSON.stringify(shown)}\n` : stringify(shown));
    });
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  // An address may hold a password.
  if (typeof value === "string") return value.replace(/(\/\/[^/@:]*:)\S*@/, "$1***@");
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      SECRET.test(key) ? hidden(inner) : withoutSecrets(inner),
    ]),
  );
}

function hidden(secret: unknown): unknown {
  if (Array.isArray(secret)) return secret.map(hidden);
  if (typeof secret === "object" && secret !== null) {
    return Object.fromEntries(Object.keys(secret).map((name) => [name, "***"]));
  }
  return secret === undefined ? undefined : "***";
}
