import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  AuditOutcome,
  type AuditService,
  type ListAuditEntriesRequest,
  ListAuditEntriesResponseSchema,
} from "../../../gen/baton/admin/v1/audit_pb.js";
import { listingDigest, openPageToken, sealPageToken } from "../../domain/page-token.ts";
import type { AdminAuditStore, AdminEntry } from "../../store/admin-audit.ts";
import type { Handlers } from "../call.ts";
import { bounded } from "./bounded.ts";

export interface AuditServiceOptions {
  readonly audit: AdminAuditStore;
  readonly pageTokenSecret: Buffer;
}

const PAGE_SIZE = { fallback: 100, max: 500 } as const;
/** Entries that are read at a time, and how often in one call, where filters leave some out. */
const BATCH = 500;
const ROUNDS = 10;
/** A token is a place in the record, which does not move. */
const NEVER = Number.MAX_SAFE_INTEGER;

const OUTCOMES = {
  ok: AuditOutcome.OK,
  refused: AuditOutcome.REFUSED,
  failed: AuditOutcome.FAILED,
} as const;

/** What operators did; see baton/admin/v1/audit.proto. */
export function createAuditService(options: AuditServiceOptions): Handlers<typeof AuditService> {
  const { audit, pageTokenSecret: secret } = options;
  return {
    async listAuditEntries(request) {
      const size = bounded("pageSize", request.pageSize, PAGE_SIZE);
      const since = request.since === undefined ? undefined : timestampMs(request.since);
      const until = request.before === undefined ? undefined : timestampMs(request.before);
      const { operator, action, target } = request;
      const filters = [operator, action, target, since ?? null, until ?? null];
      const digest = listingDigest(["ListAuditEntries", ...filters]);
      let before = "";
      if (request.pageToken !== "") {
        before = String(openPageToken(secret, digest, request.pageToken, Date.now()));
      }
      const matches = filterOf(request, since, until);
      const found: AdminEntry[] = [];
      let more = true;
      for (let round = 0; more && found.length < size && round < ROUNDS; round++) {
        const batch = await audit.read({ before, since, until, count: BATCH });
        more = batch.length === BATCH;
        for (const entry of batch) {
          if (found.length === size) {
            more = true;
            break;
          }
          before = entry.id;
          if (matches(entry)) found.push(entry);
        }
      }
      return create(ListAuditEntriesResponseSchema, {
        entries: found.map(entryView),
        nextPageToken: more ? sealPageToken(secret, digest, before, NEVER) : "",
      });
    },
  };
}

function filterOf(
  { operator, action, target }: ListAuditEntriesRequest,
  since: number | undefined,
  until: number | undefined,
): (entry: AdminEntry) => boolean {
  return (entry) =>
    (operator === "" || entry.operator === operator) &&
    (action === "" || entry.action.includes(action)) &&
    (target === "" || entry.target === target) &&
    (since === undefined || entry.at >= since) &&
    (until === undefined || entry.at < until);
}

function entryView(entry: AdminEntry) {
  return {
    id: entry.id,
    time: timestampFromMs(entry.at),
    operator: entry.operator,
    action: entry.action,
    agent: entry.agent,
    target: entry.target,
    outcome: entry.outcome === undefined ? AuditOutcome.UNSPECIFIED : OUTCOMES[entry.outcome],
    reason: entry.reason,
    error: entry.error ?? "",
    requestId: entry.requestId,
    details: { ...entry.details },
  };
}
