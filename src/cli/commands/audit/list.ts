import { toJson } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Command } from "commander";
import {
  type AuditEntry,
  AuditOutcome,
  AuditService,
  ListAuditEntriesResponseSchema,
} from "../../../../gen/baton/admin/v1/audit_pb.js";
import { type AdminOptions, withAdminOptions, withAdminService } from "../../admin-options.ts";
import { note, printResult, table } from "../../output.ts";
import { pointInTime, timeText } from "../../push-text.ts";
import { wholeNumber } from "../../values.ts";

interface ListOptions extends AdminOptions {
  readonly operator?: string;
  readonly action?: string;
  readonly target?: string;
  readonly since?: Timestamp;
  readonly before?: Timestamp;
  readonly limit: number;
  readonly pageToken?: string;
}

export function auditListCommand(): Command {
  return withAdminOptions(new Command("list"))
    .description("List what operators did and tried, the latest first.")
    .option("--operator <name>", "only what one of them did")
    .option("--action <text>", "only actions whose name holds this, such as RevokeEndpoint")
    .option("--target <id>", "only what was done to this")
    .option("--since <time>", "only since a time, or an age such as 2h", pointInTime)
    .option("--before <time>", "only before a time, or an age", pointInTime)
    .option("--limit <n>", "how many on a page, at most 500", wholeNumber(1, 500), 100)
    .option("--page-token <token>", "the page to show, as told by the page before")
    .action(async (options: ListOptions) => {
      const request = {
        operator: options.operator ?? "",
        action: options.action ?? "",
        target: options.target ?? "",
        pageSize: options.limit,
        pageToken: options.pageToken ?? "",
        ...(options.since === undefined ? {} : { since: options.since }),
        ...(options.before === undefined ? {} : { before: options.before }),
      };
      const page = await withAdminService(AuditService, options, (client) =>
        client.listAuditEntries(request),
      );
      printResult(options.json, toJson(ListAuditEntriesResponseSchema, page), () =>
        page.entries.length === 0
          ? "Nothing was done."
          : table([["TIME", "OPERATOR", "ACTION", "TARGET", "OUTCOME", "REASON"], ...page.entries.map(row)]),
      );
      if (page.nextPageToken !== "") note(`More: --page-token ${page.nextPageToken}`);
    });
}

function row({ time, operator, action, target, outcome, error, reason }: AuditEntry): string[] {
  const word = outcome === AuditOutcome.UNSPECIFIED ? "unknown" : AuditOutcome[outcome].toLowerCase();
  const came = error === "" ? word : `${word}: ${error}`;
  return [timeText(time), operator, action.split(".").at(-1) ?? action, target, came, reason];
}
