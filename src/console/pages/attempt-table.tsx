import { type DeadLetter, type PushAttempt, PushFailure } from "../../../gen/baton/admin/v1/push_pb.js";
import { Badge } from "../parts/badge.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { shortId } from "../parts/short.ts";
import { durationText, When } from "../parts/when.tsx";
import { taskAddress } from "./task-table.tsx";

/** In an operator's words: what to look at. */
const FAILURES: Readonly<Record<PushFailure, string>> = {
  [PushFailure.UNSPECIFIED]: "",
  [PushFailure.NETWORK]: "no connection, or it broke",
  [PushFailure.TIMEOUT]: "no answer in time",
  [PushFailure.TLS]: "TLS failed",
  [PushFailure.DNS]: "the name has no address",
  [PushFailure.PROTOCOL]: "the answer was no HTTP",
  [PushFailure.STATUS_RETRYABLE]: "refused for now",
  [PushFailure.STATUS_FINAL]: "refused",
  [PushFailure.REDIRECT]: "answered with a redirect, which is never followed",
  [PushFailure.EGRESS_DENIED]: "the egress guard refused the destination",
  [PushFailure.ABORTED_BY_RECEIVER]: "the receiver wants no more tries",
  [PushFailure.EXPIRED]: "held back for too long",
  [PushFailure.LANE_FULL]: "too many waited for the config",
  [PushFailure.CREDENTIAL_GONE]: "its credential was discarded",
  [PushFailure.CREDENTIAL_UNREADABLE]: "no key opens its credential",
  [PushFailure.UNSENDABLE]: "the event cannot be written as a body",
};

/** Why, with what the receiver or the platform said. */
export function failureText(attempt: Pick<PushAttempt, "failure" | "httpStatus" | "errorCode">): string {
  const said = attempt.httpStatus > 0 ? `HTTP ${attempt.httpStatus}` : attempt.errorCode;
  return [FAILURES[attempt.failure], said].filter(Boolean).join(", ");
}

export function deadText({ failure, lastAttempt }: DeadLetter): string {
  return lastAttempt === undefined
    ? FAILURES[failure]
    : failureText({ failure, httpStatus: lastAttempt.httpStatus, errorCode: lastAttempt.errorCode });
}

export function AttemptTable(props: {
  readonly attempts: readonly PushAttempt[];
  /** For links to their tasks; absent: they are all of one task. */
  readonly agent?: string;
}) {
  const { attempts, agent } = props;
  return (
    <DataTable
      caption="Attempts to push"
      rows={attempts}
      keyOf={({ taskId, sequence, attempt, host, endedAt }) =>
        [taskId, sequence, attempt, host, endedAt?.seconds, endedAt?.nanos].join(" ")
      }
      columns={[
        {
          head: agent === undefined ? "Event" : "Task",
          cell: ({ taskId, sequence, host }) => (
            <>
              {agent === undefined ? (
                `log ${sequence}`
              ) : (
                <>
                  <a data-row href={taskAddress(agent, taskId)}>
                    <code>{shortId(taskId)}</code>
                  </a>{" "}
                  <span class="faint">log {String(sequence)}</span>
                </>
              )}
              <p class="sub narrow-only">{host}</p>
            </>
          ),
        },
        { head: "Receiver", wideOnly: true, cell: ({ host }) => <code class="breaking">{host}</code> },
        { head: "Try", wideOnly: true, align: "end", cell: ({ attempt }) => attempt },
        {
          head: "Result",
          cell: (attempt) => (
            <>
              <Badge tone={attempt.delivered ? "good" : "bad"}>
                {attempt.delivered ? "delivered" : "failed"}
              </Badge>{" "}
              <span class="faint">{failureText(attempt)}</span>
              {attempt.egress?.allowed === false && (
                <p class="sub">
                  Guard: {attempt.egress.arm}, {attempt.egress.reason} {attempt.egress.range}
                </p>
              )}
            </>
          ),
        },
        { head: "Took", wideOnly: true, align: "end", cell: ({ duration }) => durationText(duration) },
        { head: "When", align: "end", cell: ({ endedAt }) => <When at={endedAt} /> },
        {
          head: "Next try",
          wideOnly: true,
          align: "end",
          cell: ({ nextAttemptAt }) => <When at={nextAttemptAt} none="none" />,
        },
      ]}
    />
  );
}
