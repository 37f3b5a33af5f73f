import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { TaskSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { type ClientOptions, withClient, withClientOptions } from "../../client-options.ts";
import { note, printResult } from "../../output.ts";
import { advice, taskText } from "../../task-text.ts";
import { wholeNumber } from "../../values.ts";

export function taskGetCommand(): Command {
  return withClientOptions(new Command("get"))
    .description("Show a task as it is now.")
    .argument("<id>", "the task")
    .option(
      "--history <n>",
      "how many messages of the history to fetch (default: all)",
      wholeNumber(0, 100_000),
    )
    .action(async (id: string, options: ClientOptions & { readonly history?: number }) => {
      const { history } = options;
      const request = { id, ...(history === undefined ? {} : { historyLength: history }) };
      const task = await withClient(options, (client) => client.getTask(request));
      printResult(options.json, toJson(TaskSchema, task), () => taskText(task));
      const next = advice(task.id, task.status?.state);
      if (next !== undefined) note(next);
    });
}
