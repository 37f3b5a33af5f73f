import { Command } from "commander";
import { type ClientOptions, withClient, withClientOptions } from "../../client-options.ts";
import { printStream } from "../../print-stream.ts";

export function taskWatchCommand(): Command {
  return withClientOptions(new Command("watch"))
    .description("Follow a task until it ends, over cut connections too. Exit code 1 if it did not complete.")
    .argument("<id>", "the task")
    .action(async (taskId: string, options: ClientOptions) => {
      process.exitCode = await withClient(options, (client) =>
        printStream(client, { taskId, endOnInput: false, json: options.json }),
      );
    });
}
