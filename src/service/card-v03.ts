import { create } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema, AgentInterfaceSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";

export interface LegacyInterfaceOptions {
  /** Base of this agent's addresses, its tenant included, without a trailing slash. */
  readonly agentUrl: string;
  /** `host:port`, without a scheme (A2A-149). */
  readonly grpcTarget: string;
}

/**
 * Adds the three addresses at which an agent speaks 0.3, after those of 1.0: peers exist that take the first whatever
 * its version (FR-70). 0.3 knows no tenant, so the addresses hold it; on gRPC the credential names the agent.
 */
export function withLegacyInterfaces(card: AgentCard, options: LegacyInterfaceOptions): AgentCard {
  const { agentUrl, grpcTarget } = options;
  const legacy = [
    { url: agentUrl, protocolBinding: "JSONRPC" },
    { url: grpcTarget, protocolBinding: "GRPC" },
    { url: agentUrl, protocolBinding: "HTTP+JSON" },
  ].map((address) => create(AgentInterfaceSchema, { ...address, protocolVersion: "0.3" }));
  return create(AgentCardSchema, {
    ...withoutTypeName(card),
    supportedInterfaces: [...card.supportedInterfaces, ...legacy],
  });
}

function withoutTypeName({
  $typeName,
  $unknown,
  ...fields
}: AgentCard): Omit<AgentCard, "$typeName" | "$unknown"> {
  return fields;
}

/** The addresses at which a card offers 0.3, preferred first. */
export function legacyInterfaces(card: AgentCard): AgentCard["supportedInterfaces"] {
  return card.supportedInterfaces.filter(({ protocolVersion }) => /^0\.3(\.\d+)?$/.test(protocolVersion));
}
