import { create } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema, AgentInterfaceSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";

/**
 * Adds the addresses at which an agent speaks 0.3, after those of 1.0: peers exist that take the first whatever its version
 * (FR-70). They are those of 1.0, since one port serves both. 0.3 knows no tenant, so HTTP+JSON stands at the address of
 * JSON-RPC, which holds it; on gRPC the credential names the agent.
 */
export function withLegacyInterfaces(card: AgentCard): AgentCard {
  const addressOf = (binding: string) =>
    card.supportedInterfaces.find(({ protocolBinding }) => protocolBinding === binding)?.url;
  const legacy = [
    { url: addressOf("JSONRPC"), protocolBinding: "JSONRPC" },
    { url: addressOf("GRPC"), protocolBinding: "GRPC" },
    { url: addressOf("JSONRPC"), protocolBinding: "HTTP+JSON" },
  ].flatMap(({ url, protocolBinding }) =>
    url === undefined ? [] : [create(AgentInterfaceSchema, { url, protocolBinding, protocolVersion: "0.3" })],
  );
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
