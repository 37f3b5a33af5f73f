import type { Embedding } from "./embedded.ts";

/** The stage that decided. A refusal by an early arm means that no later one ran (no DNS, no socket). */
export type DecisionArm = "scheme" | "url" | "name" | "resolve" | "address";

/** Why. A closed list, so that it can be a metric label and can carry no secret. */
export type DecisionReason =
  | "allowed"
  | "url_unreadable"
  | "url_too_long"
  | "url_character"
  | "scheme_not_https"
  | "plaintext_not_allowed"
  | "userinfo"
  | "port_not_allowed"
  | "host_malformed"
  | "name_internal"
  | "name_single_label"
  | "name_metadata"
  | "answer_unreadable"
  | "address_not_public"
  | "address_metadata"
  | "address_own_listener";

/** The judgement of one address. */
export interface AddressVerdict {
  /** Canonical text of the judged address. */
  readonly address: string;
  readonly allowed: boolean;
  readonly reason: Extract<
    DecisionReason,
    "allowed" | "port_not_allowed" | "plaintext_not_allowed" | `address_${string}`
  >;
  /** Name of the deciding row of the special-purpose table. */
  readonly range: string;
  /** The IPv4 address inside that decided, where one did. */
  readonly embedded?: { readonly form: Embedding; readonly address: string };
  /** The operator's allow entry that let it through. */
  readonly allowedBy?: string;
}

/**
 * One egress decision, for logs, metrics and the record of a delivery. It holds no path, query, userinfo or header.
 * `addresses` tells what internal DNS answers: for operators, not for the caller who chose the URL.
 */
export interface EgressDecision {
  readonly allowed: boolean;
  readonly arm: DecisionArm;
  readonly reason: DecisionReason;
  /** Normalised host, without brackets or trailing dot; empty where the URL could not be read. */
  readonly host: string;
  /** 0 where the URL could not be read. */
  readonly port: number;
  readonly range?: string;
  readonly addresses?: readonly AddressVerdict[];
}
