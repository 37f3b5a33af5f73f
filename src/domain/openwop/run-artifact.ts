import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Artifact, ArtifactSchema, type Part, PartSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";

/** Store keys hold artifact ids; one that would make an unusable key is taken as a name only. */
const MAX_ID = 256;

/** JSON that protobuf can hold: what JSON itself cannot say becomes null. */
function plainJson(value: unknown): JsonValue {
  const text = JSON.stringify(value);
  return text === undefined ? null : (JSON.parse(text) as JsonValue);
}

function partOf(value: unknown): Part {
  if (typeof value === "string") {
    return create(PartSchema, { content: { case: "text", value }, mediaType: "text/plain" });
  }
  return create(PartSchema, {
    content: { case: "data", value: fromJson(ValueSchema, plainJson(value)) },
    mediaType: "application/json",
  });
}

/**
 * A host's artifact body as an A2A Artifact. A body that is one already (v2, `application/a2a+json`) is taken over, as
 * long as its id is the one asked for; any other JSON becomes one part. Addresses into the host's storage do not cross.
 */
export function artifactOf(artifactId: string, name: string, body: unknown): Artifact {
  const id = artifactId.slice(0, MAX_ID);
  const offered = a2aArtifact(body);
  if (offered !== undefined && offered.artifactId === artifactId) return offered;
  return create(ArtifactSchema, { artifactId: id, name, parts: [partOf(body)] });
}

function a2aArtifact(body: unknown): Artifact | undefined {
  if (typeof body !== "object" || body === null || !("parts" in body) || !("artifactId" in body))
    return undefined;
  try {
    const artifact = fromJson(ArtifactSchema, plainJson(body), { ignoreUnknownFields: true });
    const parts = artifact.parts.filter(
      (part) => part.content.case !== undefined && part.content.case !== "url",
    );
    return parts.length === 0 ? undefined : { ...artifact, parts };
  } catch {
    return undefined;
  }
}

/**
 * The outputs of a completed run as its final artifacts, one for each output, with the output's name as id. An output
 * that only points at an artifact that was sent already is left out.
 */
export function outputArtifacts(
  outputs: Readonly<Record<string, unknown>>,
  sent: ReadonlySet<string>,
): Artifact[] {
  return Object.entries(outputs).flatMap(([name, value]) => {
    if (value === undefined || value === null || pointsAt(value, sent)) return [];
    const artifactId = `output-${name}`.slice(0, MAX_ID);
    return [create(ArtifactSchema, { artifactId, name, parts: [partOf(value)] })];
  });
}

function pointsAt(value: unknown, sent: ReadonlySet<string>): boolean {
  if (typeof value !== "object" || value === null || !("artifactId" in value)) return false;
  return typeof value.artifactId === "string" && sent.has(value.artifactId);
}
