import { toJson } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Command } from "commander";
import { SearchTasksResponseSchema, TaskService } from "../../../../gen/baton/admin/v1/task_pb.js";
import type { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { states, TASK_HEAD, taskRow } from "../../operator-text.ts";
import { note, printResult, table } from "../../output.ts";
import { pointInTime } from "../../push-text.ts";
import { wholeNumber } from "../../values.ts";

interface SearchOptions extends AdminOptions {
  readonly agent?: string;
  readonly endpoint?: string;
  readonly state?: readonly TaskState[];
  readonly queue?: string;
  readonly context?: string;
  readonly id?: string;
  readonly since?: Timestamp;
  readonly before?: Timestamp;
  readonly limit: number;
  readonly pageToken?: string;
}

export function taskSearchCommand(): Command {
  return withAdminOptions(new Command("search"))
    .description("Find the tasks of every client, the latest status first (for operators).")
    .option("--agent <name>", "only this agent's (default: all)")
    .option("--endpoint <id>", "only those that an endpoint sent")
    .option("--state <state>", "only those in a state; may be given more than once", states)
    .option("--queue <name>", "only those of a queue")
    .option("--context <id>", "only those of a context")
    .option("--id <start>", "only those whose id starts so")
    .option("--since <time>", "only those in their state since a time, or an age such as 2h", pointInTime)
    .option("--before <time>", "only those that took their state before a time, or an age", pointInTime)
    .option("--limit <n>", "how many on a page, at most 200", wholeNumber(1, 200), 50)
    .option("--page-token <token>", "the page to show, as told by the page before")
    .action(async (options: SearchOptions) => {
      const request = {
        agent: options.agent ?? "",
        endpointId: options.endpoint ?? "",
        states: [...(options.state ?? [])],
        queue: options.queue ?? "",
        contextId: options.context ?? "",
        idPrefix: options.id ?? "",
        pageSize: options.limit,
        pageToken: options.pageToken ?? "",
        ...(options.since === undefined ? {} : { statusAfter: options.since }),
        ...(options.before === undefined ? {} : { statusBefore: options.before }),
      };
      const page = await withAdminService(TaskService, options, (client) => client.searchTasks(request));
      printResult(options.json, toJson(SearchTasksResponseSchema, page), () =>
        page.tasks.length === 0 ? "No task was found." : table([TASK_HEAD, ...page.tasks.map(taskRow)]),
      );
      if (page.nextPageToken !== "") note(`More: --page-token ${page.nextPageToken}`);
    });
}
