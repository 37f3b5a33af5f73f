/** Names of fields in refusals of 0.3 requests, given those that they have in 1.0, which is what the table expects. */
import type { DetailParts } from "./messages.ts";

export type NameIn1_0 = (field: string) => string;

export function withNames(names: NameIn1_0, found: DetailParts): DetailParts {
  return {
    ...found,
    violations: found.violations.map(({ field, ...rest }) => ({ ...rest, field: names(field) })),
  };
}

/** A field by one of its names of 1.0 in an answer to a 0.3 request: its writer does not know it (A2A-176). */
function foreign(field: string): string {
  return `(not a name of 0.3) ${field}`;
}

export const fromKindName: NameIn1_0 = (field) => {
  if (/taskPushNotificationConfig|authentication\.scheme$|^(url|token)$/.test(field)) return foreign(field);
  return field
    .replace(/^configuration\.pushNotificationConfig\b/, "configuration.taskPushNotificationConfig")
    .replace(/\bauthentication\.schemes$/, "authentication.scheme")
    .replace(/^pushNotificationConfig\./, "");
};

export const fromProtoName: NameIn1_0 = (field) => {
  if (
    /taskPushNotificationConfig|authentication\.scheme$|^(url|token|id|taskId|message\.parts.*)$/.test(field)
  )
    return foreign(field);
  return field
    .replace(/^name$/, "id")
    .replace(/^parent$/, "taskId")
    .replace(/^message\.content\b/, "message.parts")
    .replace(/^configuration\.pushNotification\b/, "configuration.taskPushNotificationConfig")
    .replace(/\bauthentication\.schemes$/, "authentication.scheme")
    .replace(/^config\.pushNotificationConfig\./, "");
};
