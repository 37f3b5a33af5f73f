import { z } from "zod";
import { configJsonSchema } from "../../src/config/load.ts";
import { valuesSchema } from "./values.ts";

interface JsonSchema {
  $schema?: string;
  $defs?: Record<string, unknown>;
  properties?: Record<string, JsonSchema>;
  [keyword: string]: unknown;
}

/** Keys of baton.yaml that the chart decides: a value there would be overwritten, or be a secret in a ConfigMap. */
const CHART_OWNED = [
  "listen.host",
  "listen.port",
  "listen.tls",
  "admin.host",
  "admin.port",
  "admin.token",
  "dataDir",
  "drain",
  "roles",
  "redis",
  "push.secretKey",
  "push.previousSecretKeys",
];

/**
 * `values.schema.json`: the chart's own values, and `config` as the program describes it. In draft 7, which every Helm
 * that the chart is for understands.
 */
export function valuesJsonSchema(): object {
  // JSON Schema as JSON: the library's type also knows schemas that are a mere boolean, which ours are not.
  const values = z.toJSONSchema(valuesSchema, { target: "draft-7" }) as JsonSchema;
  const { $schema: _dialect, $defs, ...config }: JsonSchema = { ...configJsonSchema() };
  for (const path of CHART_OWNED) remove(config, path.split("."));
  relax(values);
  return {
    ...values,
    properties: { ...values.properties, config },
    ...($defs === undefined ? {} : { $defs }),
  };
}

function remove(schema: JsonSchema, [key, ...rest]: readonly string[]): void {
  const { properties } = schema;
  const inner = key === undefined ? undefined : properties?.[key];
  if (key === undefined || properties === undefined || inner === undefined) {
    throw new Error(`the configuration has no ${key}: correct CHART_OWNED`);
  }
  if (rest.length === 0) delete properties[key];
  else remove(inner, rest);
}

/** Nothing that has a default is required: `null` takes a default away, and `enabled: false` needs nothing at all. */
function relax(schema: JsonSchema): void {
  delete schema.required;
  for (const inner of Object.values(schema.properties ?? {})) relax(inner);
}
