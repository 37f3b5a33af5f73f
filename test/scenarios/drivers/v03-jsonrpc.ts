/** JSON-RPC of 0.3: methods with a slash and objects with `kind`, in the envelope that 1.0 has too. */

import { expect } from "vitest";
import { StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { ErrorKind, FieldViolation } from "../../../src/domain/errors.ts";
import { type Answer, type DriverKind, methodOf, type UnaryOperation } from "../driver.ts";
import { checkErrorInfo } from "./check-error.ts";
import { connectJsonRpc, type JsonRpcDialect } from "./jsonrpc.ts";
import { answerMessage, detailsFromJson, NO_DETAILS } from "./messages.ts";
import { kindAnswer, kindEvent } from "./v03-kind-answer.ts";
import { kindCall } from "./v03-kind-request.ts";
import { fromKindName, withNames } from "./v03-names.ts";

/** `field: what is wrong with it`, which is all that an error of 0.3 says of a field here. */
function fieldOfText(text: string): readonly FieldViolation[] {
  const [, field, description] = /^([A-Za-z][\w.[\]]*): (.+)$/s.exec(text) ?? [];
  return field === undefined || description === undefined ? [] : [{ field, description }];
}

/** The method name says the version; these refusals come before it was read, in the form of 1.0. */
const UNREAD: readonly ErrorKind[] = [
  "Unauthenticated",
  "ParseError",
  "PayloadTooLarge",
  "ContentTypeNotSupported",
  "MethodNotFound",
  "RouteNotFound",
];

const DIALECT: JsonRpcDialect = {
  // Clients of 0.3 know no such header.
  version: null,
  unknownMethod: "tasks/none",
  call: kindCall,
  answer: (operation, result) =>
    answerMessage(methodOf(operation).output, kindAnswer(operation, result)) as Answer<UnaryOperation>,
  event: (result) => answerMessage(StreamResponseSchema, kindEvent(result)),
  details: ({ code: _, ...error }) => {
    if (Array.isArray(error.data)) return detailsFromJson(error.data);
    expect(Object.keys(error), "A2A-172 code and text, and no data").toEqual(["message"]);
    return withNames(fromKindName, { ...NO_DETAILS, violations: fieldOfText(String(error.message)) });
  },
  checkDetails(seen, kind, { bare }) {
    if (seen.detailTypes.length === 0) return checkErrorInfo(seen, kind, { bare: true });
    expect(UNREAD, "A2A-172 0.3 has no typed details").toContain(kind);
    return checkErrorInfo(seen, kind, { bare });
  },
  shown: () => ({}),
};

export const jsonRpcDriverV03: DriverKind = {
  name: "jsonrpc 0.3",
  version: "0.3",
  features: new Set(["json", "path-tenant", "empty-id"]),
  connect: (target) => connectJsonRpc(DIALECT, target),
};
