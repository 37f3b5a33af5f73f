import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { invalidParams } from "../../domain/errors.ts";
import { MAX_JSON_DEPTH, parseJson } from "../json/read.ts";
import { decodeSegment, type Target } from "../target.ts";
import type { RestRoute } from "./binding.ts";
import { getAt, jsonPath, resolveField, setAt } from "./field-path.ts";
import { applyQuery } from "./query.ts";
import type { RouteMatch } from "./router.ts";
import { textValue } from "./text-value.ts";

/**
 * Puts the JSON of a request together from body, path and query, as its HTTP rule says. The path decides; a body that
 * names something else is refused and nothing is done (A2A-78, FR-65). Throws ParseError or InvalidParams.
 */
export function requestJson(
  { route, captures }: RouteMatch<RestRoute>,
  query: Target["query"],
  body: string,
): JsonObject {
  const json = bodyJson(route, body);
  for (const { field: name, raw, many } of captures) {
    const chain = resolveField(route.input, name);
    const field = chain?.at(-1);
    if (chain === undefined || field === undefined) continue;
    const value = textValue(field, raw.map(many ? decodeWithSlashes : decodeSegment).join("/"));
    const given = getAt(json, chain);
    if (given !== undefined && given !== null && given !== "" && !isSame(given, value)) {
      throw invalidParams({ field: jsonPath(chain), description: "differs from the path" });
    }
    setAt(json, chain, value);
  }
  // With a whole-request body there is nothing left for the query to say.
  if (route.body !== "*") applyQuery(route, query, json);
  return json;
}

/**
 * In a variable of any number of segments an escaped slash stays as it is (google/api/http.proto), or it would divide. Names
 * of a known form, such as the `tasks/*` of A2A 0.3, hold it decoded: their ids may have slashes (A2A-56).
 */
function decodeWithSlashes(segment: string): string {
  return segment
    .split(/(%2F)/i)
    .map((piece, index) => (index % 2 === 1 ? piece : decodeSegment(piece)))
    .join("");
}

/** Objects are never asked for their text: a peer may send one whose `toString` is no function. */
function isSame(given: JsonValue, value: JsonValue): boolean {
  return typeof given !== "object" && String(given) === String(value);
}

function bodyJson(route: RestRoute, text: string): JsonObject {
  if (route.body === "" || text.trim() === "") return {};
  const { value, scan } = parseJson(text);
  if (scan.duplicate !== undefined) {
    throw invalidParams({ field: scan.duplicate.slice(0, 200), description: "is given twice" });
  }
  if (scan.depth > MAX_JSON_DEPTH) {
    throw invalidParams({ field: "body", description: `is nested more than ${MAX_JSON_DEPTH} levels deep` });
  }
  if (route.body === "*") return objectOf(value);
  const json: JsonObject = {};
  const chain = resolveField(route.input, route.body);
  if (chain !== undefined) setAt(json, chain, value);
  return json;
}

function objectOf(value: JsonValue): JsonObject {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
  throw invalidParams({ field: "body", description: "must be an object" });
}
