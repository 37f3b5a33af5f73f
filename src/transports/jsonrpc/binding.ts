import type {
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  JsonObject,
  JsonValue,
  Message,
} from "@bufbuild/protobuf";
import type { BatonError } from "../../domain/errors.ts";
import type { ProtocolVersion } from "../../service/call.ts";
import { printText } from "../json/print.ts";
import { printOptionsFor } from "../json/print-options.ts";
import { readMessage } from "../json/read.ts";
import { errorObject } from "./errors.ts";

/** How one JSON-RPC method name is served: which rpc it is, and how its JSON is read and printed. */
export interface JsonRpcBinding {
  readonly form: ProtocolVersion;
  readonly method: DescMethodUnary | DescMethodServerStreaming;
  /** Throws InvalidParams. */
  readRequest(params: JsonObject): Message;
  /** Prints a result, or one event of a stream, as JSON text. */
  printResult(result: Message, request: Message): string;
  printError(error: BatonError): JsonValue;
}

/** The bindings of a set of method names. */
export type JsonRpcBindings = ReadonlyMap<string, JsonRpcBinding>;

/** Serves every rpc of a service under its own name; a new rpc needs nothing else (A2A 1.0). */
export function bindingsOf(service: DescService): JsonRpcBindings {
  const methods = service.methods.filter(isServed);
  return new Map(methods.map((method) => [method.name, bindingOf(method)]));
}

function isServed(method: DescMethod): method is DescMethodUnary | DescMethodServerStreaming {
  return method.methodKind === "unary" || method.methodKind === "server_streaming";
}

function bindingOf(method: DescMethodUnary | DescMethodServerStreaming): JsonRpcBinding {
  return {
    form: "1.0",
    method,
    readRequest: (params) => readMessage(method.input, params),
    printResult: (result, request) =>
      printText(method.output, result, printOptionsFor(method.input, request)),
    printError: errorObject,
  };
}
