import { formatAddress } from "./address.ts";
import type { Deadline } from "./deadline.ts";
import type { AddressVerdict, DecisionArm, DecisionReason, EgressDecision } from "./decision.ts";
import { EgressDenied, EgressFailed } from "./errors.ts";
import { judgeAddressText } from "./judge-address.ts";
import { matchesName } from "./names.ts";
import type { EgressPolicy } from "./policy.ts";
import type { EgressResolver } from "./resolve.ts";
import { type EgressTarget, judgeUrl } from "./url.ts";

/** A destination that passed every arm now. It holds for one attempt: DNS may answer otherwise at the next. */
export interface CheckedTarget {
  readonly target: EgressTarget;
  readonly decision: EgressDecision;
  /** Canonical texts, IPv4 and IPv6 in turn, no duplicates; at least one. */
  readonly addresses: readonly string[];
}

/**
 * All arms over one URL, for registration and for every attempt alike. Opens no connection to the destination.
 * @throws EgressDenied with the decision; EgressFailed (`dns_*`) where the name could not be resolved
 */
export async function checkDestination(
  url: string,
  policy: EgressPolicy,
  resolver: EgressResolver,
  deadline: Deadline,
): Promise<CheckedTarget> {
  const { target, refusal } = judgeUrl(url, policy);
  if (target === undefined) throw new EgressDenied(refusal);
  const verdicts: AddressVerdict[] = [];
  for (const text of await answers(target, policy, resolver, deadline)) {
    const verdict = judgeAddressText(text, policy, {
      port: target.port,
      plaintext: target.scheme === "http",
    });
    if (verdict === undefined) throw deny(target, "resolve", "answer_unreadable", verdicts);
    verdicts.push(verdict);
  }
  // One bad answer condemns the set: an honest receiver has none, and whoever mixes them is rolling dice with us.
  const bad = verdicts.find((verdict) => !verdict.allowed);
  if (bad !== undefined) throw deny(target, "address", bad.reason, verdicts, bad.range);
  const addresses = alternateFamilies([...new Set(verdicts.map((verdict) => verdict.address))]);
  const decision: EgressDecision = {
    allowed: true,
    arm: "address",
    reason: "allowed",
    host: target.host,
    port: target.port,
    addresses: verdicts,
  };
  return { target, decision, addresses };
}

async function answers(
  target: EgressTarget,
  policy: EgressPolicy,
  resolver: EgressResolver,
  deadline: Deadline,
): Promise<readonly string[]> {
  if (target.literal !== undefined) return [formatAddress(target.literal)];
  const internal = matchesName(target.host, policy.allowNames);
  const found = await resolveInTime(target.host, internal, resolver, deadline);
  if (found.length === 0) throw new EgressFailed("dns_no_answer");
  return found;
}

async function resolveInTime(
  name: string,
  internal: boolean,
  resolver: EgressResolver,
  deadline: Deadline,
): Promise<readonly string[]> {
  try {
    return await deadline.race(resolver.resolve({ name, internal, signal: deadline.signal }));
  } catch (error) {
    if (deadline.signal.aborted) {
      const failure = deadline.failure();
      throw failure.reason === "aborted" ? failure : new EgressFailed("dns_timeout");
    }
    throw error instanceof EgressFailed ? error : new EgressFailed("dns_failed");
  }
}

function deny(
  target: EgressTarget,
  arm: DecisionArm,
  reason: DecisionReason,
  addresses: readonly AddressVerdict[],
  range?: string,
): EgressDenied {
  const { host, port } = target;
  return new EgressDenied({ allowed: false, arm, reason, host, port, ...(range && { range }), addresses });
}

/** IPv4 first: a machine without IPv6 is common, and a black hole costs a whole connect timeout. */
function alternateFamilies(addresses: readonly string[]): readonly string[] {
  const v4 = addresses.filter((address) => !address.includes(":"));
  const v6 = addresses.filter((address) => address.includes(":"));
  const longest = Math.max(v4.length, v6.length);
  return Array.from({ length: longest }, (_, i) => [v4[i], v6[i]])
    .flat()
    .filter((address) => address !== undefined);
}
