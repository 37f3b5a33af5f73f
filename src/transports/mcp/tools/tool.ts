import type { JsonObject } from "@bufbuild/protobuf";
import * as z from "zod";
import type { Verb } from "../../../domain/caller.ts";
import { BatonError } from "../../../domain/errors.ts";
import type { Call } from "../../../service/call.ts";
import type { ToolServices } from "../services.ts";
import { argumentViolations, invalidArguments } from "../tool-error.ts";

/** One tool, whatever its arguments. */
export interface Tool {
  /** The verb that it is listed for. */
  readonly name: Verb;
  /** Verbs any of which may call it. */
  readonly verbs: readonly Verb[];
  readonly description: string;
  readonly readOnly: boolean;
  /** JSON Schema of the arguments. */
  readonly inputSchema: { readonly type: "object"; readonly [key: string]: unknown };
  /** Throws BatonError. */
  call(services: ToolServices, input: unknown, call: Call): Promise<JsonObject>;
  /** The todo that a call with this result now holds; absent: such calls take none. */
  readonly held?: (result: JsonObject) => string | undefined;
}

interface ToolDefinition<S extends z.ZodObject> {
  readonly name: Verb;
  /** More verbs than its own that may call it. */
  readonly alsoBy?: readonly Verb[];
  readonly description: string;
  readonly readOnly?: boolean;
  readonly input: S;
  readonly run: (services: ToolServices, input: z.output<S>, call: Call) => Promise<JsonObject>;
  readonly held?: (result: JsonObject) => string | undefined;
}

/** Builds a tool. Its grant is checked before its arguments: who may not call it learns nothing from it (SB-71). */
export function defineTool<S extends z.ZodObject>(definition: ToolDefinition<S>): Tool {
  const { name, input, run, held } = definition;
  const verbs = [name, ...(definition.alsoBy ?? [])];
  return {
    name,
    verbs,
    description: definition.description,
    readOnly: definition.readOnly ?? false,
    inputSchema: { ...z.toJSONSchema(input, { io: "input" }), type: "object" },
    async call(services, given, call) {
      if (!verbs.some((verb) => call.caller.verbs.has(verb))) {
        throw new BatonError("Forbidden", `the endpoint is not granted ${name}`);
      }
      const parsed = input.safeParse(given ?? {});
      if (!parsed.success) throw invalidArguments(argumentViolations(parsed.error.issues));
      return run(services, parsed.data, call);
    },
    ...(held === undefined ? {} : { held }),
  };
}
