import {
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  getOption,
  type JsonObject,
  type Message,
} from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../../gen/google/api/http_pb.js";
import type { BatonError, ErrorTable } from "../../domain/errors.ts";
import type { ProtocolVersion } from "../../service/call.ts";
import { printText } from "../json/print.ts";
import { printOptionsFor } from "../json/print-options.ts";
import { readMessage } from "../json/read.ts";
import { aliasesOf } from "./aliases.ts";
import { type RestError, restError } from "./errors.ts";
import type { Routable } from "./router.ts";
import { compileTemplate } from "./template.ts";

type Method = DescMethodUnary | DescMethodServerStreaming;

/** How the JSON of one rpc is read and printed on this transport. */
export interface RestBinding {
  readonly form: ProtocolVersion;
  /** The rpc that is called. */
  readonly method: Method;
  /** Throws InvalidParams. */
  readRequest(json: JsonObject): Message;
  /** Prints a result, or one event of a stream. */
  printResult(result: Message, request: Message): string;
  printError(error: BatonError, edition: ErrorTable): RestError;
}

/** One HTTP rule of one rpc. */
export interface RestRoute extends Routable {
  /** `*`: the body is the request; a field name: it is that field; empty: there is none. */
  readonly body: string;
  /** The message whose fields the variables and the query name. */
  readonly input: DescMessage;
  /** Further names of query parameters, by the field that they stand for. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly binding: RestBinding;
}

/**
 * Reads the routes of a service from its `google.api.http` options: each rule and its additional bindings. `bind` makes
 * the binding of a method; by default its own messages as ProtoJSON, in the 1.0 form. Throws an Error for a rule that
 * cannot be served.
 */
export function routesOf(
  service: DescService,
  bind: (method: Method) => RestBinding = bindingOf,
): RestRoute[] {
  const routes: RestRoute[] = [];
  for (const method of service.methods) {
    if (!isServed(method)) continue;
    const rule = getOption(method, http);
    const binding = bind(method);
    const aliases = aliasesOf(method);
    for (const each of [rule, ...rule.additionalBindings]) {
      for (const [httpMethod, path, body] of formsOf(each, method)) {
        routes.push({
          httpMethod,
          template: compileTemplate(path),
          body,
          input: method.input,
          aliases,
          binding,
        });
      }
    }
  }
  return routes;
}

function isServed(method: DescMethod): method is Method {
  return method.methodKind === "unary" || method.methodKind === "server_streaming";
}

/**
 * The method, path and body of a rule. A stream that the proto reads with GET is served with POST too: the text of the
 * specification says POST where its proto says GET, and clients do either (FR-60).
 */
function formsOf(rule: HttpRule, method: Method): [httpMethod: string, path: string, body: string][] {
  if (rule.responseBody !== "") throw new Error(`${method.name}: response_body is not supported`);
  const { pattern, body } = rule;
  if (pattern.case === undefined) return [];
  if (pattern.case === "custom") return [[pattern.value.kind.toUpperCase(), pattern.value.path, body]];
  const path = pattern.value;
  const own: [string, string, string] = [pattern.case.toUpperCase(), path, body];
  const alsoPost = method.methodKind === "server_streaming" && pattern.case === "get";
  return alsoPost ? [own, ["POST", path, "*"]] : [own];
}

function bindingOf(method: Method): RestBinding {
  return {
    form: "1.0",
    method,
    readRequest: (json) => readMessage(method.input, json),
    printResult: (result, request) =>
      printText(method.output, result, printOptionsFor(method.input, request)),
    printError: restError,
  };
}
