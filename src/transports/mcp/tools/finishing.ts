import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import * as z from "zod";
import {
  CompleteRequestSchema,
  FailRequestSchema,
  RejectRequestSchema,
  ReleaseRequestSchema,
  type Todo,
} from "../../../../gen/baton/worker/v1/worker_pb.js";
import { type Artifact, ArtifactSchema, type Message } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { RESULT_ARTIFACT } from "../../../service/worker/todo-result.ts";
import { retryJson, todoRow } from "../todo-json.ts";
import {
  artifactReference,
  checkedJson,
  checkedText,
  dataPart,
  id,
  json,
  leaseToken,
  messageOf,
  summary,
  textPart,
} from "./parameters.ts";
import { defineTool } from "./tool.ts";

function row(todo: Todo | undefined): JsonObject {
  if (todo === undefined) throw new Error("the worker service answered without a todo");
  return todoRow(todo);
}

/** What every end of an attempt may carry. */
function account(input: {
  readonly id: string;
  readonly summary?: string | undefined;
  readonly artifact?: string | undefined;
  readonly lease_token?: string | undefined;
}) {
  return {
    id: input.id,
    summary: checkedText("summary", input.summary ?? ""),
    artifact: input.artifact ?? "",
    leaseToken: input.lease_token ?? "",
  };
}

function resultArtifact(result: JsonValue | undefined): Artifact[] {
  if (result === undefined) return [];
  return [
    create(ArtifactSchema, {
      artifactId: RESULT_ARTIFACT,
      name: RESULT_ARTIFACT,
      parts: [dataPart(result)],
    }),
  ];
}

/** What went wrong, for the client: text as text, anything else as data. */
function failureMessage(result: JsonValue | undefined): { message?: Message } {
  if (result === undefined) return {};
  return { message: messageOf(typeof result === "string" ? textPart("result", result) : dataPart(result)) };
}

const complete = defineTool({
  name: "complete",
  description:
    "Finish a todo that you hold. The result becomes an artifact of the task that its client reads.",
  input: z.strictObject({
    id,
    result: json.describe("The outcome, any JSON; shown to the client."),
    summary,
    artifact: artifactReference,
    lease_token: leaseToken,
  }),
  async run({ worker }, input, call) {
    const artifacts = resultArtifact(checkedJson("result", input.result));
    return row(
      (await worker.complete(create(CompleteRequestSchema, { ...account(input), artifacts }), call)).todo,
    );
  },
});

const fail = defineTool({
  name: "fail",
  description:
    "Report that the attempt failed. The todo is tried again after a back-off, or becomes a dead letter when no attempt is left.",
  input: z.strictObject({
    id,
    result: json.describe("What went wrong, text or any JSON; shown to the client."),
    summary,
    artifact: artifactReference,
    lease_token: leaseToken,
  }),
  async run({ worker }, input, call) {
    const message = failureMessage(checkedJson("result", input.result));
    const answer = await worker.fail(create(FailRequestSchema, { ...account(input), ...message }), call);
    const { todo, deadLetter } = answer;
    return { ...row(todo), ...(todo === undefined ? {} : retryJson(todo, deadLetter)) };
  },
});

const release = defineTool({
  name: "release",
  description: "Give a todo back at once, without spending an attempt.",
  input: z.strictObject({ id, summary, artifact: artifactReference, lease_token: leaseToken }),
  async run({ worker }, input, call) {
    return row((await worker.release(create(ReleaseRequestSchema, account(input)), call)).todo);
  },
});

const reject = defineTool({
  name: "reject",
  description: "Refuse a todo for good. It is never tried again.",
  input: z.strictObject({
    id,
    message: z.string().min(1).optional().describe("Why, for the client."),
    summary,
    lease_token: leaseToken,
  }),
  async run({ worker }, input, call) {
    const { artifact: _none, ...rest } = account(input);
    const why = input.message === undefined ? {} : { message: messageOf(textPart("message", input.message)) };
    return row((await worker.reject(create(RejectRequestSchema, { ...rest, ...why }), call)).todo);
  },
});

export const FINISHING = [complete, fail, release, reject];
