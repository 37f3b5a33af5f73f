/**
 * The A2A extension by which the card states how pushes are delivered; its text is docs/extensions/push-delivery.md.
 * A2A itself promises one attempt for each event and says nothing on order, repetition or identity.
 */
export const PUSH_DELIVERY_URI = "urn:baton:a2a:push-delivery:v1";

export const PUSH_DELIVERY_DESCRIPTION =
  "Pushes are delivered at least once, in order for each task and config, with a stable event id and an attempt number.";

/** Request headers of every push. Lower case. */
export const PUSH_HEADER = {
  /** Position of the event in the task's log: grows by one with each event, and repeats when a push does (SB-78). */
  sequence: "a2a-event-sequence",
  /** `<task id>/<sequence>`: the same for every push of one event, so that receivers can tell repetitions. */
  id: "a2a-notification-id",
  /** 1 for the first attempt that we know of. */
  attempt: "a2a-notification-attempt",
  token: "x-a2a-notification-token",
  version: "a2a-version",
} as const;
