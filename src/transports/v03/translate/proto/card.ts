/** Agent cards: package a2a.v1 (0.3) and package lf.a2a.v1 (1.0), both ways. */
import {
  create,
  type DescMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  type AgentCard as OldAgentCard,
  AgentCardSchema as OldAgentCardSchema,
  AgentExtensionSchema as OldAgentExtensionSchema,
  AgentProviderSchema as OldAgentProviderSchema,
  type AgentSkill as OldAgentSkill,
  AgentSkillSchema as OldAgentSkillSchema,
  SecuritySchemeSchema as OldSecuritySchemeSchema,
  type Security,
  SecuritySchema,
} from "../../../../../gen/a2a/v1/a2a_pb.js";
import {
  type AgentCard,
  AgentCardSchema,
  AgentExtensionSchema,
  AgentProviderSchema,
  type AgentSkill,
  AgentSkillSchema,
  type SecurityRequirement,
  SecurityRequirementSchema,
  SecuritySchemeSchema,
} from "../../../../../gen/lf/a2a/v1/a2a_pb.js";
import { legacyInterfaces } from "../../../../service/card-v03.ts";
import { CARD_VERSION } from "../kind/card.ts";
import { preferredFirst } from "../preferred-first.ts";
import { whenSet } from "../when-set.ts";

/** Copies the fields that a message of the other version has under the same names; what only one of them has stays behind. */
function recast<D extends DescMessage>(schema: D, message: Message): MessageShape<D> {
  // create reads the fields of its own schema and no others, at every depth, so the foreign type does no harm.
  return create(schema, message as unknown as MessageInitShape<D>);
}

function recastMap<D extends DescMessage>(
  schema: D,
  map: Readonly<Record<string, Message>>,
): Record<string, MessageShape<D>> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, recast(schema, value)]));
}

/** Signatures are left out: they cover the 1.0 form (A2A-190). */
export function cardToV03(card: AgentCard): OldAgentCard {
  const interfaces = legacyInterfaces(card);
  const { provider, capabilities } = card;
  return create(OldAgentCardSchema, {
    protocolVersion: CARD_VERSION,
    name: card.name,
    description: card.description,
    url: interfaces[0]?.url ?? "",
    preferredTransport: interfaces[0]?.protocolBinding ?? "",
    additionalInterfaces: interfaces.map(({ url, protocolBinding }) => ({ url, transport: protocolBinding })),
    ...(provider === undefined ? {} : { provider: recast(OldAgentProviderSchema, provider) }),
    version: card.version,
    documentationUrl: card.documentationUrl ?? "",
    iconUrl: card.iconUrl ?? "",
    ...(capabilities === undefined
      ? {}
      : {
          capabilities: {
            streaming: capabilities.streaming ?? false,
            pushNotifications: capabilities.pushNotifications ?? false,
            extensions: capabilities.extensions.map((each) => recast(OldAgentExtensionSchema, each)),
          },
        }),
    supportsAuthenticatedExtendedCard: capabilities?.extendedAgentCard ?? false,
    securitySchemes: recastMap(OldSecuritySchemeSchema, card.securitySchemes),
    security: card.securityRequirements.map(requirementToV03),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map(skillToV03),
  });
}

function requirementToV03(requirement: SecurityRequirement): Security {
  return recast(SecuritySchema, requirement);
}

function skillToV03(skill: AgentSkill): OldAgentSkill {
  const { securityRequirements } = skill;
  const common = recast(OldAgentSkillSchema, skill);
  common.security = securityRequirements.map(requirementToV03);
  return common;
}

/** Booleans without presence: false and absent are one in 0.3, and come back as absent. */
function whenTrue(value: boolean | undefined): true | undefined {
  return value === true ? true : undefined;
}

export function cardFromV03(card: OldAgentCard): AgentCard {
  const { provider, capabilities } = card;
  const extended = whenTrue(card.supportsAuthenticatedExtendedCard);
  return create(AgentCardSchema, {
    name: card.name,
    description: card.description,
    supportedInterfaces: interfacesFromV03(card),
    ...(provider === undefined ? {} : { provider: recast(AgentProviderSchema, provider) }),
    version: card.version,
    ...whenSet("documentationUrl", card.documentationUrl || undefined),
    ...whenSet("iconUrl", card.iconUrl || undefined),
    ...(capabilities === undefined && extended === undefined
      ? {}
      : {
          capabilities: {
            ...whenSet("streaming", whenTrue(capabilities?.streaming)),
            ...whenSet("pushNotifications", whenTrue(capabilities?.pushNotifications)),
            ...whenSet("extendedAgentCard", extended),
            extensions: (capabilities?.extensions ?? []).map((each) => recast(AgentExtensionSchema, each)),
          },
        }),
    securitySchemes: recastMap(SecuritySchemeSchema, card.securitySchemes),
    securityRequirements: card.security.map(requirementFromV03),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map(skillFromV03),
  });
}

function requirementFromV03(requirement: Security): SecurityRequirement {
  return recast(SecurityRequirementSchema, requirement);
}

function skillFromV03(skill: OldAgentSkill): AgentSkill {
  const common = recast(AgentSkillSchema, skill);
  common.securityRequirements = skill.security.map(requirementFromV03);
  return common;
}

/** The preferred address first, then the others; it is usually among them too. */
function interfacesFromV03(
  card: OldAgentCard,
): { url: string; protocolBinding: string; protocolVersion: string }[] {
  const preferred = { url: card.url, transport: card.preferredTransport || "JSONRPC" };
  return preferredFirst(card.url === "" ? undefined : preferred, card.additionalInterfaces).map(
    ({ url, transport }) => ({ url, protocolBinding: transport, protocolVersion: "0.3" }),
  );
}
