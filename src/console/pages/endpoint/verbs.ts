/** What an endpoint may be granted; the names are those of the worker service's operations. */
export const SUBMIT_VERBS: readonly string[] = ["create_for"];
export const WORK_VERBS: readonly string[] = [
  "list_todos",
  "get_todo",
  "claim",
  "claim_next",
  "heartbeat",
  "complete",
  "fail",
  "release",
  "reject",
  "require_input",
  "require_auth",
  "add_artifact",
  "update_status",
  "get_messages",
  "get_default_lease",
  "set_default_lease",
];
