import { Command } from "commander";
import { loadConfig } from "../../../config/load.ts";
import { type OutputOptions, printResult, withOutput } from "../../output.ts";

export function configCheckCommand(): Command {
  return withOutput(new Command("check"))
    .description("Check the configuration: file, environment and defaults. Exit code 2 if it cannot be used.")
    .option("--config <file>", "configuration file (BATON_CONFIG; default: baton.yaml, if there is one)")
    .action((options: OutputOptions & { readonly config?: string }) => {
      const agents = Object.keys(loadConfig(options.config, process.env).agents);
      printResult(
        options.json,
        { ok: true, agents },
        () => `The configuration is good. Agents: ${agents.join(", ")}.`,
      );
    });
}
