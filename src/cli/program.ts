import { Command } from "commander";
import { programVersion } from "../server/version.ts";
import { auditListCommand } from "./commands/audit/list.ts";
import { cardCommand } from "./commands/card/card.ts";
import { completionCommand } from "./commands/completion.ts";
import { configCheckCommand } from "./commands/config/check.ts";
import { configSchemaCommand } from "./commands/config/schema.ts";
import { configShowCommand } from "./commands/config/show.ts";
import { demoCommand } from "./commands/demo.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { endpointCreateCommand } from "./commands/endpoint/create.ts";
import { endpointDeleteCommand } from "./commands/endpoint/delete.ts";
import { endpointGetCommand } from "./commands/endpoint/get.ts";
import { endpointListCommand } from "./commands/endpoint/list.ts";
import { endpointRevokeCommand } from "./commands/endpoint/revoke.ts";
import { grantCommand } from "./commands/grant/grant.ts";
import { pushCommand } from "./commands/push/push.ts";
import { queueListCommand } from "./commands/queue/list.ts";
import { sendCommand } from "./commands/send.ts";
import { serveCommand } from "./commands/serve.ts";
import { statsCommand } from "./commands/stats.ts";
import { taskAnswerCommand } from "./commands/task/answer.ts";
import { taskCancelCommand } from "./commands/task/cancel.ts";
import { taskGetCommand } from "./commands/task/get.ts";
import { taskInspectCommand } from "./commands/task/inspect.ts";
import { taskListCommand } from "./commands/task/list.ts";
import { taskSearchCommand } from "./commands/task/search.ts";
import { taskTimelineCommand } from "./commands/task/timeline.ts";
import { taskWatchCommand } from "./commands/task/watch.ts";
import { todoDeadCommand } from "./commands/todo/dead.ts";
import { todoRetryCommand } from "./commands/todo/retry.ts";
import { workerCommand } from "./commands/worker.ts";
import { workerListCommand } from "./commands/worker-list.ts";
import { completeHelp } from "./help.ts";

/** The whole command line. */
export function createProgram(): Command {
  const program = new Command("baton")
    .description("A gateway that turns A2A messages into durable tasks for workers.")
    .version(programVersion())
    // What stands behind a command is for that command: `worker` and `worker list` have options of one name.
    .enablePositionalOptions()
    .addCommand(serveCommand())
    .addCommand(demoCommand())
    .addCommand(doctorCommand())
    .addCommand(sendCommand())
    .addCommand(
      new Command("task")
        .description("Look at tasks, follow and cancel them.")
        .addCommand(taskGetCommand())
        .addCommand(taskListCommand())
        .addCommand(taskWatchCommand())
        .addCommand(taskCancelCommand())
        .addCommand(taskSearchCommand())
        .addCommand(taskInspectCommand())
        .addCommand(taskTimelineCommand())
        .addCommand(taskAnswerCommand()),
    )
    .addCommand(workerCommand().enablePositionalOptions().addCommand(workerListCommand()))
    .addCommand(
      new Command("queue").description("Look at the queues of the agents.").addCommand(queueListCommand()),
    )
    .addCommand(
      new Command("endpoint")
        .description("Vend and revoke credentials.")
        .addCommand(endpointCreateCommand())
        .addCommand(endpointListCommand())
        .addCommand(endpointGetCommand())
        .addCommand(endpointRevokeCommand())
        .addCommand(endpointDeleteCommand()),
    )
    .addCommand(grantCommand())
    .addCommand(cardCommand())
    .addCommand(
      new Command("todo")
        .description("Look at the todos that failed for good, and retry them.")
        .addCommand(todoDeadCommand())
        .addCommand(todoRetryCommand()),
    )
    .addCommand(pushCommand())
    .addCommand(statsCommand())
    .addCommand(
      new Command("audit").description("Look at what operators did.").addCommand(auditListCommand()),
    )
    .addCommand(
      new Command("config")
        .description("Check and show the configuration.")
        .addCommand(configCheckCommand())
        .addCommand(configSchemaCommand())
        .addCommand(configShowCommand()),
    )
    .addCommand(completionCommand());
  completeHelp(program);
  throwUsageErrors(program);
  return program;
}

/** Commander would end the process itself, with its own code. */
function throwUsageErrors(command: Command): void {
  command.exitOverride();
  for (const child of command.commands) throwUsageErrors(child);
}
