/** Requests and answers between the table's ProtoJSON and the wire. */
import {
  create,
  createRegistry,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import {
  type BadRequest,
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../../gen/google/rpc/error_details_pb.js";
import type { FieldViolation } from "../../../src/domain/errors.ts";
import type { SeenError } from "../driver.ts";

const registry = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema);

/** What a generated client would send for this ProtoJSON; names that the message lacks are left out. */
export function requestMessage<D extends DescMessage>(desc: D, request: JsonObject): MessageShape<D> {
  return fromJson(desc, request, { ignoreUnknownFields: true });
}

export function requestBytes(desc: DescMessage, request: JsonObject): Uint8Array {
  return toBinary(desc, requestMessage(desc, request));
}

/** Reads an answer as the strict clients do: a name that the schema lacks is an error (A2A-122). */
export function answerMessage<D extends DescMessage>(desc: D, json: JsonValue): MessageShape<D> {
  return fromJson(desc, json, { ignoreUnknownFields: false });
}

export function answerFromBytes<D extends DescMessage>(desc: D, bytes: Uint8Array): MessageShape<D> {
  const message = fromBinary(desc, bytes);
  if (message.$unknown !== undefined && message.$unknown.length > 0) {
    throw new Error(`${desc.typeName} holds fields that its schema lacks`);
  }
  return message;
}

export type DetailParts = Pick<SeenError, "reason" | "domain" | "metadata" | "violations" | "detailTypes">;

export const NO_DETAILS: DetailParts = {
  reason: undefined,
  domain: undefined,
  metadata: {},
  violations: [],
  detailTypes: [],
};

/** Picks out what the table checks from binary details. */
export function detailsFromAny(details: readonly Any[]): DetailParts {
  const unpacked = details.map((detail) => anyUnpack(detail, registry));
  const info = unpacked.find((item): item is ErrorInfo => item?.$typeName === "google.rpc.ErrorInfo");
  const bad = unpacked.find((item): item is BadRequest => item?.$typeName === "google.rpc.BadRequest");
  return parts(
    info,
    bad,
    details.map(({ typeUrl }) => typeUrl.slice(typeUrl.lastIndexOf("/") + 1)),
  );
}

/** The same from their JSON form, `[{"@type": ..., ...}]`; each element must have its type (A2A-12). */
export function detailsFromJson(value: JsonValue | undefined): DetailParts {
  if (value === undefined) return NO_DETAILS;
  if (!Array.isArray(value)) throw new Error(`details are not an array: ${JSON.stringify(value)}`);
  const types: string[] = [];
  let info: ErrorInfo | undefined;
  let bad: BadRequest | undefined;
  for (const item of value) {
    if (typeof item !== "object" || item === null || Array.isArray(item))
      throw new Error("a detail is no object");
    const { "@type": url, ...fields } = item;
    if (typeof url !== "string") throw new Error("A2A-12: a detail has no @type");
    const type = url.slice(url.lastIndexOf("/") + 1);
    types.push(type);
    if (!url.startsWith("type.googleapis.com/")) throw new Error(`unexpected type URL ${url}`);
    if (type === ErrorInfoSchema.typeName) info = answerMessage(ErrorInfoSchema, fields);
    if (type === BadRequestSchema.typeName) bad = answerMessage(BadRequestSchema, fields);
  }
  return parts(info, bad, types);
}

/** Details of a Connect error: type name and unpadded base64. */
export function detailsFromConnect(value: JsonValue | undefined): DetailParts {
  if (value === undefined) return NO_DETAILS;
  if (!Array.isArray(value)) throw new Error("details are not an array");
  const types: string[] = [];
  let info: ErrorInfo | undefined;
  let bad: BadRequest | undefined;
  for (const item of value) {
    const { type, value: encoded } = item as { type?: string; value?: string };
    if (typeof type !== "string" || typeof encoded !== "string")
      throw new Error("a detail lacks type or value");
    types.push(type);
    const bytes = Buffer.from(encoded, "base64");
    if (type === ErrorInfoSchema.typeName) info = fromBinary(ErrorInfoSchema, bytes);
    if (type === BadRequestSchema.typeName) bad = fromBinary(BadRequestSchema, bytes);
  }
  return parts(info, bad, types);
}

function parts(
  info: ErrorInfo | undefined,
  bad: BadRequest | undefined,
  detailTypes: readonly string[],
): DetailParts {
  const violations: FieldViolation[] = (bad ?? create(BadRequestSchema)).fieldViolations.map(
    ({ field, description }) => ({ field, description }),
  );
  return {
    reason: info?.reason,
    domain: info?.domain,
    metadata: { ...info?.metadata },
    violations,
    detailTypes,
  };
}
