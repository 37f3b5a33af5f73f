/**
 * Requests to addresses that strangers chose, without becoming their tool: a guard against server-side request
 * forgery and an HTTP client that cannot step around it. Usable alone (`baton-a2a/egress`); it imports nothing from the
 * rest of Baton.
 *
 * `judgeUrl` and `judgeAddress` are pure; `createEgressClient` joins them with DNS and a dialler that connects to
 * exactly the address that was judged.
 * @module
 */
export { type AddressBytes, formatAddress, type Prefix, parseAddress, parsePrefix } from "./address.ts";
export {
  type CheckOptions,
  createEgressClient,
  type EgressClient,
  type EgressClientOptions,
  type EgressTimeouts,
  type GetRequest,
  type PostRequest,
  type PostResult,
} from "./client.ts";
export type { AddressVerdict, DecisionArm, DecisionReason, EgressDecision } from "./decision.ts";
export { type EmbeddedV4, type Embedding, embeddedV4 } from "./embedded.ts";
export { EgressDenied, EgressFailed, type EgressFailureReason, EgressPolicyError } from "./errors.ts";
export { type EgressHeaders, type HeaderProblem, headerProblem } from "./headers.ts";
export { type AddressQuestion, judgeAddress, judgeAddressText } from "./judge-address.ts";
export { METADATA_ADDRESSES, METADATA_NAMES } from "./metadata.ts";
export { INTERNAL_SUFFIXES } from "./names.ts";
export { type AllowEntryInput, compilePolicy, type EgressPolicy, type EgressPolicyInput } from "./policy.ts";
export type { PortInput } from "./ports.ts";
export {
  type EgressResolver,
  type ResolveQuestion,
  type SystemResolverOptions,
  systemResolver,
} from "./resolve.ts";
export { MAX_RESPONSE_BYTES } from "./send.ts";
export { type RangeVerdict, SPECIAL_RANGES, type SpecialRange } from "./special-purpose.ts";
export { type EgressTarget, judgeUrl, MAX_URL_LENGTH, type UrlJudgement } from "./url.ts";
