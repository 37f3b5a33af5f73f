import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { TaskSchema, TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { type ClientOptions, withClient, withClientOptions } from "../../client-options.ts";
import { EXIT } from "../../exit.ts";
import { note, printResult } from "../../output.ts";
import { stateWord, taskText } from "../../task-text.ts";

export function taskCancelCommand(): Command {
  return withClientOptions(new Command("cancel"))
    .description("Cancel a task. Exit code 1 if it had already ended in another way.")
    .argument("<id>", "the task")
    .option("--reason <text>", "why, for the record")
    .action(async (id: string, options: ClientOptions & { readonly reason?: string }) => {
      const { reason } = options;
      const request = { id, ...(reason === undefined ? {} : { metadata: { reason } }) };
      const task = await withClient(options, (client) => client.cancelTask(request));
      printResult(options.json, toJson(TaskSchema, task), () => taskText(task));
      if (task.status?.state === TaskState.CANCELED) return;
      note(`The task had already ended: ${stateWord(task.status?.state)}.`);
      process.exitCode = EXIT.failed;
    });
}
