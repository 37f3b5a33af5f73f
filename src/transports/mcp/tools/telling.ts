import { create, type JsonValue } from "@bufbuild/protobuf";
import * as z from "zod";
import {
  AddArtifactRequestSchema,
  RequireAuthRequestSchema,
  RequireInputRequestSchema,
  type Todo,
  UpdateStatusRequestSchema,
} from "../../../../gen/baton/worker/v1/worker_pb.js";
import { type Artifact, ArtifactSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError, invalidParams } from "../../../domain/errors.ts";
import { readMessage } from "../../json/read.ts";
import { todoRow } from "../todo-json.ts";
import { checkedJson, dataPart, id, leaseToken, messageOf, messageText, textPart } from "./parameters.ts";
import { defineTool } from "./tool.ts";

function row(todo: Todo | undefined) {
  if (todo === undefined) throw new Error("the worker service answered without a todo");
  return todoRow(todo);
}

const requireInput = defineTool({
  name: "require_input",
  description:
    "Ask the client of a todo that you hold a question. The lease is suspended until the answer gives the todo back to you; read it with get_messages.",
  input: z.strictObject({
    id,
    message: messageText.describe("The question."),
    schema: z.record(z.string(), z.unknown()).optional().describe("JSON Schema of the answer that you need."),
    lease_token: leaseToken,
  }),
  async run({ worker }, input, call) {
    const schema = checkedJson("schema", input.schema);
    const message = messageOf(
      textPart("message", input.message),
      ...(schema === undefined ? [] : [dataPart(schema, "application/schema+json")]),
    );
    const request = { id: input.id, leaseToken: input.lease_token ?? "", message };
    return row((await worker.requireInput(create(RequireInputRequestSchema, request), call)).todo);
  },
});

const requireAuth = defineTool({
  name: "require_auth",
  description: "Ask the client of a todo that you hold for an authorization, in the manner of require_input.",
  input: z.strictObject({
    id,
    message: messageText.describe("What is needed, and where it is given."),
    lease_token: leaseToken,
  }),
  async run({ worker }, input, call) {
    const message = messageOf(textPart("message", input.message));
    const request = { id: input.id, leaseToken: input.lease_token ?? "", message };
    return row((await worker.requireAuth(create(RequireAuthRequestSchema, request), call)).todo);
  },
});

/** Names the fields of an artifact as those of the tool's parameter. */
function readArtifact(json: unknown): Artifact {
  try {
    return readMessage(ArtifactSchema, json as JsonValue);
  } catch (thrown) {
    const error = BatonError.from(thrown);
    if (error.violations.length === 0) throw error;
    throw invalidParams(
      ...error.violations.map(({ field, description }) => ({ field: `artifact.${field}`, description })),
    );
  }
}

const addArtifact = defineTool({
  name: "add_artifact",
  description: "Add an artifact to the task of a todo that you hold, or parts to one that it has.",
  input: z.strictObject({
    id,
    artifact: z
      .looseObject({ parts: z.array(z.unknown()) })
      .describe(
        "An A2A artifact: {artifactId?, name?, description?, parts: [{text} | {data} | {url} | {raw}]}.",
      ),
    append: z
      .boolean()
      .optional()
      .describe("Append to the artifact of that artifactId instead of replacing it."),
    last_chunk: z.boolean().optional().describe("No further chunk follows."),
    lease_token: leaseToken,
  }),
  async run({ worker }, input, call) {
    const request = create(AddArtifactRequestSchema, {
      id: input.id,
      artifact: readArtifact(input.artifact),
      append: input.append ?? false,
      lastChunk: input.last_chunk ?? false,
      leaseToken: input.lease_token ?? "",
    });
    const { artifactId, seq } = await worker.addArtifact(request, call);
    return { artifact_id: artifactId, seq: Number(seq) };
  },
});

const updateStatus = defineTool({
  name: "update_status",
  description: "Tell the client how the work on a todo that you hold goes, without ending it.",
  input: z.strictObject({ id, message: messageText, lease_token: leaseToken }),
  async run({ worker }, input, call) {
    const message = messageOf(textPart("message", input.message));
    const request = { id: input.id, leaseToken: input.lease_token ?? "", message };
    return { seq: Number((await worker.updateStatus(create(UpdateStatusRequestSchema, request), call)).seq) };
  },
});

export const TELLING = [requireInput, requireAuth, addArtifact, updateStatus];
