import { toJson } from "@bufbuild/protobuf";
import { Command } from "commander";
import { GetPushStatusResponseSchema, PushService } from "../../../../gen/baton/admin/v1/push_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { printResult, table } from "../../output.ts";
import { failureText, timeText } from "../../push-text.ts";

interface StatusOptions extends AdminOptions {
  readonly agent?: string;
}

export function pushStatusCommand(): Command {
  return withAdminOptions(new Command("status"))
    .description("Show how much waits, what waits longest, and what the operator opened in the egress guard.")
    .option("--agent <name>", "the agent (default: the default agent)")
    .action(async (options: StatusOptions) => {
      const answer = await withAdminService(PushService, options, (client) =>
        client.getPushStatus({ agent: options.agent ?? "" }),
      );
      printResult(options.json, toJson(GetPushStatusResponseSchema, answer), () => {
        if (!answer.enabled) return "Push notifications are switched off.";
        const rows = answer.lanes.map((lane) => [
          lane.taskId,
          lane.configId,
          lane.host,
          String(lane.depth),
          timeText(lane.oldestAt),
          String(lane.attempts),
          lane.lastAttempt === undefined ? "-" : failureText(lane.lastAttempt.failure),
        ]);
        return [
          `${answer.laneCount} configs with waiting pushes, ${answer.outboxCount} events not yet relayed, ${answer.deadLetterCount} given up`,
          ...answer.egressExceptions,
          ...(rows.length === 0
            ? []
            : [table([["TASK", "CONFIG", "HOST", "WAITING", "OLDEST", "ATTEMPTS", "LAST"], ...rows])]),
        ].join("\n");
      });
    });
}
