/** Security schemes of a card in the form of OpenAPI, as the JSON of 0.3 has them, and in that of 1.0. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type SecurityScheme, SecuritySchemeSchema } from "../../../../../gen/lf/a2a/v1/a2a_pb.js";
import { printMessage } from "../../../json/print.ts";
import { isJsonObject } from "../data-compat.ts";
import type { Members } from "./members.ts";

/** `type` of 0.3 by the member of 1.0 that stands for it. */
const TYPES = {
  apiKeySecurityScheme: "apiKey",
  httpAuthSecurityScheme: "http",
  oauth2SecurityScheme: "oauth2",
  openIdConnectSecurityScheme: "openIdConnect",
  mtlsSecurityScheme: "mutualTLS",
} as const;

type SchemeCase = keyof typeof TYPES;

const CASES = new Map(Object.entries(TYPES).map(([member, type]) => [type, member as SchemeCase]));

/** Flows that 0.3 has, with their members; 1.0 has one flow more and one member more. */
const FLOWS: Readonly<Record<string, readonly string[]>> = {
  authorizationCode: ["authorizationUrl", "tokenUrl", "refreshUrl", "scopes"],
  clientCredentials: ["tokenUrl", "refreshUrl", "scopes"],
  implicit: ["authorizationUrl", "refreshUrl", "scopes"],
  password: ["tokenUrl", "refreshUrl", "scopes"],
};

/** Undefined for a scheme without a kind, which no peer could use. */
export function writeSecurityScheme(scheme: SecurityScheme): JsonObject | undefined {
  const { case: member } = scheme.scheme;
  if (member === undefined) return undefined;
  const printed = printMessage(SecuritySchemeSchema, scheme);
  const fields = isJsonObject(printed) ? printed[member] : undefined;
  const json: JsonObject = { type: TYPES[member], ...(isJsonObject(fields) ? fields : {}) };
  if (member === "apiKeySecurityScheme") {
    const { location, ...rest } = json;
    return { ...rest, in: location ?? "" };
  }
  if (member === "oauth2SecurityScheme") return { ...json, flows: writeFlows(json.flows) };
  return json;
}

function writeFlows(flows: JsonObject[string] | undefined): JsonObject {
  const json: JsonObject = {};
  for (const [name, members] of Object.entries(FLOWS)) {
    const flow = isJsonObject(flows) ? flows[name] : undefined;
    if (!isJsonObject(flow)) continue;
    // `scopes` is required in 0.3, even when empty.
    const known = members.map((key): [string, JsonObject[string]] => [
      key,
      flow[key] ?? (key === "scopes" ? {} : ""),
    ]);
    json[name] = Object.fromEntries(known.filter(([key, value]) => value !== "" || key !== "refreshUrl"));
  }
  return json;
}

/** The ProtoJSON of 1.0 for one scheme of a 0.3 card. */
export function securitySchemeJson(scheme: Members): JsonObject {
  const type = scheme.get("type");
  const member = typeof type === "string" ? CASES.get(type as (typeof TYPES)[SchemeCase]) : undefined;
  switch (member) {
    case "apiKeySecurityScheme": {
      const location = scheme.scalar("in", "string") ?? "";
      return { [member]: { ...scheme.copy("description", "name"), location } };
    }
    case "httpAuthSecurityScheme":
      return { [member]: scheme.copy("description", "scheme", "bearerFormat") };
    case "oauth2SecurityScheme":
      return { [member]: oauth2Json(scheme) };
    case "openIdConnectSecurityScheme":
      return { [member]: scheme.copy("description", "openIdConnectUrl") };
    case "mtlsSecurityScheme":
      return { [member]: scheme.copy("description") };
    default:
      scheme.fault("type", `must be one of ${[...CASES.keys()].join(", ")}`);
      return {};
  }
}

/** 0.3 allows several flows at once, 1.0 one: the first in the order of 1.0 is taken. */
function oauth2Json(scheme: Members): JsonObject {
  const flows = scheme.object("flows");
  const name = Object.keys(FLOWS).find((key) => flows?.get(key) !== undefined);
  const flow = name === undefined ? undefined : flows?.object(name);
  const json = name === undefined || flow === undefined ? {} : { [name]: flow.copy(...(FLOWS[name] ?? [])) };
  return { ...scheme.copy("description", "oauth2MetadataUrl"), flows: json };
}
