import { readFileSync } from "node:fs";
import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { CliError, EXIT } from "./exit.ts";

/** Longest wait for a card at an address, in milliseconds. */
const FETCH_MS = 15_000;

/**
 * Reads a card of 1.0 from a file, from standard input (`-`) or from an address that the operator names. Members that 1.0
 * does not know are ignored; one that is required and missing is an error (A2A-183).
 */
export async function readCard(source: string): Promise<AgentCard> {
  let text: string;
  try {
    text = /^https?:/.test(source)
      ? await fetchText(source)
      : readFileSync(source === "-" ? 0 : source, "utf8");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError(`The card cannot be read: ${why}`, EXIT.failed);
  }
  let json: JsonValue;
  try {
    json = JSON.parse(text) as JsonValue;
  } catch {
    throw new CliError(`What stands at ${source} is not JSON.`, EXIT.usage);
  }
  const missing = REQUIRED.filter((name) => (json as JsonObject | null)?.[name] === undefined);
  if (missing.length > 0)
    throw new CliError(`This is no card of 1.0: ${missing.join(", ")} missing.`, EXIT.usage);
  try {
    return fromJson(AgentCardSchema, json, { ignoreUnknownFields: true });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError(`This is no card of 1.0: ${why}`, EXIT.usage);
  }
}

const REQUIRED = [
  "name",
  "description",
  "version",
  "supportedInterfaces",
  "capabilities",
  "defaultInputModes",
  "defaultOutputModes",
  "skills",
] as const;

async function fetchText(url: string): Promise<string> {
  const response = await fetch(url, {
    headers: { accept: "application/json", "a2a-version": "1.0" },
    signal: AbortSignal.timeout(FETCH_MS),
  });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return response.text();
}
