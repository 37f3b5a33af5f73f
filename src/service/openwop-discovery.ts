import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** A version as both discovery schemas take it: `major.minor`. */
const VERSION = /^\d+\.\d+$/;

function versionsOf(card: AgentCard): string[] {
  const found = card.supportedInterfaces.map(({ protocolVersion }) => protocolVersion);
  return [...new Set(found)].filter((version) => VERSION.test(version));
}

function speaks(card: AgentCard, version: string): boolean {
  return card.supportedInterfaces.some(
    ({ protocolBinding, protocolVersion }) => protocolBinding === "JSONRPC" && protocolVersion === version,
  );
}

/**
 * The `a2a` block of a host's discovery document for an agent, in the form of its major (openwop.md 1.6). It is read off
 * the card, so that the two cannot say different things (OW-2, OW-4). `refreshedOn`: the day it was checked.
 */
export function discoveryBlock(
  card: AgentCard,
  major: 1 | 2,
  agentCardUrl: string,
  refreshedOn: Date,
): Record<string, unknown> {
  const [preferred = "1.0", ...others] = versionsOf(card);
  const versions = [preferred, ...others];
  const flags = {
    agentCardUrl,
    streaming: card.capabilities?.streaming ?? false,
    pushNotifications: card.capabilities?.pushNotifications ?? false,
    durableTasks: true,
  };
  if (major === 1) {
    return {
      supported: true,
      protocolVersions: versions,
      preferredVersion: preferred,
      profiles: [
        ...(speaks(card, "1.0") ? ["a2a-1.0"] : []),
        ...(speaks(card, "0.3") ? ["a2a-0.3-legacy"] : []),
      ],
      ...flags,
    };
  }
  return {
    versions,
    preferredVersion: preferred,
    minimumVersion: [...versions].sort((a, b) => Number(a) - Number(b))[0] ?? preferred,
    refreshedAt: refreshedOn.toISOString().slice(0, 10),
    profiles: speaks(card, "1.0") ? ["a2a-1.0"] : [],
    ...flags,
  };
}
