import { toJson } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Command, InvalidArgumentError } from "commander";
import { ListTasksResponseSchema, type TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { type ClientOptions, withClient, withClientOptions } from "../../client-options.ts";
import { note, printResult, table } from "../../output.ts";
import { messageText, stateOfWord, stateWord } from "../../task-text.ts";
import { wholeNumber } from "../../values.ts";

interface ListOptions extends ClientOptions {
  readonly context?: string;
  readonly state?: TaskState;
  readonly limit: number;
  readonly pageToken?: string;
}

export function taskListCommand(): Command {
  return withClientOptions(new Command("list"))
    .description("List tasks, the latest change first.")
    .option("--state <state>", "only those in a state, such as working or input-required", state)
    .option("--context <id>", "only those of a context")
    .option("--limit <n>", "how many on a page, at most 100", wholeNumber(1, 100), 50)
    .option("--page-token <token>", "the page to show, as told by the page before")
    .action(async (options: ListOptions) => {
      const page = await withClient(options, (client) =>
        client.listTasks({
          contextId: options.context ?? "",
          pageSize: options.limit,
          pageToken: options.pageToken ?? "",
          historyLength: 0,
          ...(options.state === undefined ? {} : { status: options.state }),
        }),
      );
      const rows = page.tasks.map(({ id, status }) => [
        id,
        stateWord(status?.state),
        status?.timestamp === undefined ? "" : timestampDate(status.timestamp).toISOString(),
        messageText(status?.message).split("\n")[0] ?? "",
      ]);
      printResult(options.json, toJson(ListTasksResponseSchema, page), () =>
        table([["TASK", "STATE", "SINCE", "SAYS"], ...rows]),
      );
      if (page.nextPageToken !== "")
        note(`${page.totalSize} in all. More: --page-token ${page.nextPageToken}`);
    });
}

function state(word: string): TaskState {
  const found = stateOfWord(word);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(
    "Give submitted, working, input-required, auth-required, completed, failed, canceled or rejected.",
  );
}
