import { Command } from "commander";
import { configJsonSchema } from "../../../config/load.ts";

export function configSchemaCommand(): Command {
  return new Command("schema")
    .description("Print the JSON Schema of the configuration, for editors.")
    .option("--json", "print it on one line")
    .action((options: { readonly json?: boolean }) => {
      process.stdout.write(`${JSON.stringify(configJsonSchema(), null, options.json === true ? 0 : 2)}\n`);
    });
}
