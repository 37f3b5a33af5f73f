import type { JsonObject } from "@bufbuild/protobuf";
import { type FieldViolation, invalidParams } from "../../domain/errors.ts";
import type { Target } from "../target.ts";
import type { RestRoute } from "./binding.ts";
import { getAt, jsonPath, resolveField, setAt } from "./field-path.ts";
import { takesText, textValue } from "./text-value.ts";

/**
 * Puts query parameters into a request. Names are camelCase or snake_case; a list is given by repetition or with commas;
 * unknown names are ignored, `A2A-Version` among them (A2A-119, A2A-120). A field that the path or the body has given
 * already may only be repeated with the same value. Throws InvalidParams that names every wrong parameter.
 */
export function applyQuery(route: RestRoute, query: Target["query"], json: JsonObject): void {
  const violations: FieldViolation[] = [];
  for (const [name, values] of query) {
    const chain = resolveField(route.input, route.aliases.get(name) ?? name);
    const field = chain?.at(-1);
    if (chain === undefined || field === undefined) continue;
    const path = jsonPath(chain);
    const refuse = (description: string): void => void violations.push({ field: path, description });
    const texts = values.filter((value) => value !== undefined);
    if (!takesText(field)) refuse("cannot be given in the query");
    else if (texts.length < values.length) refuse("is not valid percent-encoded UTF-8");
    else if (field.fieldKind === "list") {
      const given = getAt(json, chain);
      const items = texts.flatMap((text) => text.split(",")).map((text) => textValue(field, text));
      setAt(json, chain, [...(Array.isArray(given) ? given : []), ...items]);
    } else {
      const given = getAt(json, chain);
      const [first = "", ...more] = texts;
      if (more.length > 0) refuse("is given more than once");
      else if (given !== undefined && given !== textValue(field, first)) refuse("is given twice and differs");
      else setAt(json, chain, textValue(field, first));
    }
  }
  if (violations.length > 0) throw invalidParams(...violations);
}
