/** JSON-RPC of 0.3: methods with a slash and objects with `kind`, in the envelope that 1.0 has too. */
import { StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { ErrorKind } from "../../../src/domain/errors.ts";
import { type Answer, type DriverKind, methodOf, type UnaryOperation } from "../driver.ts";
import { connectJsonRpc, type JsonRpcDialect } from "./jsonrpc.ts";
import { answerMessage } from "./messages.ts";
import { checkLegacy, fromKindName, legacyDetails } from "./v03-error.ts";
import { kindAnswer, kindEvent } from "./v03-kind-answer.ts";
import { kindCall } from "./v03-kind-request.ts";

/** The method name says the version; these refusals come before it was read. */
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
  details: (data) => legacyDetails(fromKindName, data),
  checkDetails: (seen, kind, { bare }) => checkLegacy(seen, kind, { bare, unread: UNREAD }),
  shown: () => ({}),
};

export const jsonRpcDriverV03: DriverKind = {
  name: "jsonrpc 0.3",
  version: "0.3",
  features: new Set(["json", "path-tenant", "empty-id"]),
  connect: (target) => connectJsonRpc(DIALECT, target),
};
