import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { ProtocolVersion } from "../../service/call.ts";
import { isJsonObject } from "./translate/data-compat.ts";
import { legacyMembers, printCard, security, skillsOf, writeCard } from "./translate/kind/card.ts";

/** `hybrid`: a 1.0 card that 0.3 peers can read too, for those that do not say what they speak. */
export type CardShape = ProtocolVersion | "hybrid";

/**
 * The shape of card for the `A2A-Version` of a fetch (a2a.md 5.2). A card is how a peer finds out what is spoken here,
 * so a version that we do not know, or that makes no sense, gets the hybrid rather than an error (FR-70).
 */
export function cardShape(version: string | undefined): CardShape {
  const match = /^(\d{1,3}\.\d{1,3})(?:\.\d{1,3})?$/.exec(version?.trim() ?? "");
  return match?.[1] === "1.0" || match?.[1] === "0.3" ? match[1] : "hybrid";
}

/** A card in one of its shapes. All three are the 1.0 card where the agent offers no 0.3 interface. */
export function cardJson(card: AgentCard, shape: CardShape): JsonObject {
  if (shape === "0.3") return writeCard(card) ?? printCard(card);
  return shape === "hybrid" ? hybridJson(card) : printCard(card);
}

/** Names of both versions side by side; schemes and skills, which both have, are merged member by member. */
function hybridJson(card: AgentCard): JsonObject {
  const printed = printCard(card);
  const legacy = legacyMembers(card);
  if (legacy === undefined) return printed;
  const schemes = isJsonObject(printed.securitySchemes) ? Object.entries(printed.securitySchemes) : [];
  const merged = schemes.map(([name, scheme]) => [
    name,
    { ...legacy.securitySchemes[name], ...(isJsonObject(scheme) ? scheme : {}) },
  ]);
  return {
    ...printed,
    ...legacy.top,
    ...(merged.length === 0 ? {} : { securitySchemes: Object.fromEntries(merged) }),
    skills: skillsOf(printed).map((skill, index) => ({
      ...(isJsonObject(skill) ? skill : {}),
      ...security(legacy.skillSecurity[index]),
    })),
  };
}
