import { Command } from "commander";
import { loadConfig } from "../../../config/load.ts";
import { printResult } from "../../output.ts";

export function configCheckCommand(): Command {
  return new Command("check")
    .description("Check the configuration: file, environment and defaults. Exit code 2 if it cannot be used.")
    .option("--config <file>", "configuration file (BATON_CONFIG; default: baton.yaml, if there is one)")
    .option("--json", "print JSON")
    .action((options: { readonly config?: string; readonly json?: boolean }) => {
      const agents = Object.keys(loadConfig(options.config, process.env).agents);
      printResult(
        options.json,
        { ok: true, agents },
        () => `The configuration is good. Agents: ${agents.join(", ")}.`,
      );
    });
}
