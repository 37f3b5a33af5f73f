/** gRPC of 0.3: the service `a2a.v1.A2AService`. */
import { toJson } from "@bufbuild/protobuf";
import { A2AService, StreamResponseSchema as OldEventSchema } from "../../../gen/a2a/v1/a2a_pb.js";
import { StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type Answer, type DriverKind, methodOf, type UnaryOperation } from "../driver.ts";
import { connectGrpc, type GrpcDialect } from "./grpc.ts";
import { answerFromBytes, answerMessage, detailsFromAny, requestBytes } from "./messages.ts";
import { fromProtoName, withNames } from "./v03-names.ts";
import { protoAnswer, protoEvent } from "./v03-proto-answer.ts";
import { protoCall } from "./v03-proto-request.ts";

const DIALECT: GrpcDialect = {
  service: A2AService.typeName,
  version: null,
  call(operation, request) {
    const { rpc, input, request: old } = protoCall(operation, request);
    return { rpc, body: requestBytes(input, old) };
  },
  answer(operation, body) {
    const { output } = protoCall(operation, {});
    const json = toJson(output, answerFromBytes(output, body));
    return answerMessage(
      methodOf(operation).output,
      protoAnswer(operation, json as never),
    ) as Answer<UnaryOperation>;
  },
  event(body) {
    const json = toJson(OldEventSchema, answerFromBytes(OldEventSchema, body));
    return answerMessage(StreamResponseSchema, protoEvent(json as never));
  },
  details: (details) => withNames(fromProtoName, detailsFromAny(details)),
};

export const grpcDriverV03: DriverKind = {
  name: "grpc 0.3",
  version: "0.3",
  features: new Set(["empty-id", "error-data"]),
  connect: (target) => connectGrpc(DIALECT, target),
};
