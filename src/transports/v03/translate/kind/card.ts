/** Agent cards in the JSON of 0.3 (a2a.md 5.2), both ways. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  type AgentCard,
  AgentCardSchema,
  type AgentSkill,
  type SecurityRequirement,
} from "../../../../../gen/lf/a2a/v1/a2a_pb.js";
import { legacyInterfaces } from "../../../../service/card-v03.ts";
import { printMessage } from "../../../json/print.ts";
import { isJsonObject } from "../data-compat.ts";
import { preferredFirst } from "../preferred-first.ts";
import { Members } from "./members.ts";
import { readKind } from "./read.ts";
import { securitySchemeJson, writeSecurityScheme } from "./security.ts";

/** Written with its patch number, as all 0.3 SDKs do. */
export const CARD_VERSION = "0.3.0";

/** What a card of 0.3 has and one of 1.0 has not. */
export interface LegacyMembers {
  /** Top-level members whose names 1.0 does not use. */
  readonly top: JsonObject;
  readonly securitySchemes: Readonly<Record<string, JsonObject>>;
  /** `security` of each skill, in order; undefined where the skill has none. */
  readonly skillSecurity: readonly (JsonValue | undefined)[];
}

/** Undefined where the card offers no 0.3 interface: nothing legacy is said of an agent that does not speak it. */
export function legacyMembers(card: AgentCard): LegacyMembers | undefined {
  const interfaces = legacyInterfaces(card);
  const [preferred] = interfaces;
  if (preferred === undefined) return undefined;
  const extended = card.capabilities?.extendedAgentCard;
  const schemes = Object.entries(card.securitySchemes).flatMap(([name, scheme]): [string, JsonObject][] => {
    const json = writeSecurityScheme(scheme);
    return json === undefined ? [] : [[name, json]];
  });
  return {
    top: {
      protocolVersion: CARD_VERSION,
      url: preferred.url,
      preferredTransport: preferred.protocolBinding,
      // The preferred one is repeated, as the text of 0.3 advises.
      additionalInterfaces: interfaces.map(({ url, protocolBinding }) => ({
        url,
        transport: protocolBinding,
      })),
      ...(card.securityRequirements.length === 0
        ? {}
        : { security: writeSecurity(card.securityRequirements) }),
      ...(extended === undefined ? {} : { supportsAuthenticatedExtendedCard: extended }),
    },
    // fromEntries defines members, so that a name `__proto__` stays data.
    securitySchemes: Object.fromEntries(schemes),
    skillSecurity: card.skills.map(skillSecurity),
  };
}

function skillSecurity({ securityRequirements }: AgentSkill): JsonValue | undefined {
  return securityRequirements.length === 0 ? undefined : writeSecurity(securityRequirements);
}

function writeSecurity(requirements: readonly SecurityRequirement[]): JsonValue {
  return requirements.map(({ schemes }) =>
    Object.fromEntries(Object.entries(schemes).map(([name, { list }]) => [name, [...list]])),
  );
}

const SHARED = [
  "name",
  "description",
  "version",
  "provider",
  "documentationUrl",
  "iconUrl",
  "defaultInputModes",
  "defaultOutputModes",
] as const;

/**
 * The card as a 0.3 peer reads it; undefined where the agent does not speak 0.3. Signatures are left out: they cover
 * the 1.0 form (A2A-190).
 */
export function writeCard(card: AgentCard): JsonObject | undefined {
  const legacy = legacyMembers(card);
  if (legacy === undefined) return undefined;
  const printed = printCard(card);
  const json: JsonObject = {};
  for (const key of SHARED) {
    const value = printed[key];
    if (value !== undefined) json[key] = value;
  }
  const { securitySchemes } = legacy;
  return {
    ...legacy.top,
    ...json,
    capabilities: without(printed.capabilities, "extendedAgentCard"),
    ...(Object.keys(securitySchemes).length === 0 ? {} : { securitySchemes: { ...securitySchemes } }),
    skills: skillsOf(printed).map((skill, index) => ({
      ...without(skill, "securityRequirements"),
      ...security(legacy.skillSecurity[index]),
    })),
  };
}

export function printCard(card: AgentCard): JsonObject {
  const printed = printMessage(AgentCardSchema, card);
  return isJsonObject(printed) ? printed : {};
}

export function skillsOf(printed: JsonObject): JsonValue[] {
  return Array.isArray(printed.skills) ? printed.skills : [];
}

export function security(value: JsonValue | undefined): JsonObject {
  return value === undefined ? {} : { security: value };
}

function without(value: JsonValue | undefined, key: string): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
}

/** Reads a card of 0.3. Throws InvalidParams for one that lacks what every card has. */
export function readCard(json: JsonValue): AgentCard {
  return readKind(AgentCardSchema, json, cardJson);
}

function cardJson(card: Members): JsonObject {
  const extended = card.scalar("supportsAuthenticatedExtendedCard", "boolean");
  const capabilities = card.object("capabilities");
  return {
    ...card.copy(...SHARED),
    supportedInterfaces: interfacesJson(card),
    capabilities: {
      ...capabilities?.copy("streaming", "pushNotifications", "extensions"),
      ...(extended === undefined ? {} : { extendedAgentCard: extended }),
    },
    securitySchemes: entriesJson(
      card.object("securitySchemes"),
      card.get("securitySchemes"),
      securitySchemeJson,
    ),
    securityRequirements: requirementsJson(card),
    skills:
      card.list("skills", (skill) => ({
        ...skill.copy("id", "name", "description", "tags", "examples", "inputModes", "outputModes"),
        securityRequirements: requirementsJson(skill),
      })) ?? [],
  };
}

/** The preferred address first, then the others; it is usually among them too. */
function interfacesJson(card: Members): JsonValue[] {
  const url = card.scalar("url", "string");
  const transport = card.scalar("preferredTransport", "string") || "JSONRPC";
  const others = card.list("additionalInterfaces", (each) => ({
    url: each.scalar("url", "string") ?? "",
    transport: each.scalar("transport", "string") ?? "",
  }));
  return preferredFirst(url === undefined ? undefined : { url, transport }, others ?? []).map((each) => ({
    url: each.url,
    protocolBinding: each.transport,
    protocolVersion: "0.3",
  }));
}

function entriesJson(
  members: Members | undefined,
  json: JsonValue | undefined,
  read: (entry: Members) => JsonObject,
): JsonObject {
  if (members === undefined || !isJsonObject(json)) return {};
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [
      name,
      read(Members.of(value, members.at(name), members.faults)),
    ]),
  );
}

function requirementsJson(holder: Members): JsonValue[] {
  const requirements = holder.get("security");
  if (requirements === undefined) return [];
  if (!Array.isArray(requirements)) {
    holder.fault("security", "must be an array");
    return [];
  }
  return requirements.map((requirement) => {
    if (!isJsonObject(requirement)) {
      holder.fault("security", "must hold objects");
      return {};
    }
    const schemes = Object.entries(requirement).map(([name, list]) => [name, { list }]);
    return { schemes: Object.fromEntries(schemes) };
  });
}
