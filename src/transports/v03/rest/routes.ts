/** HTTP+JSON of 0.3: the HTTP rules of a2a.v1.A2AService, at the root and below each tenant. */
import type { DescMethodServerStreaming, DescMethodUnary, JsonObject } from "@bufbuild/protobuf";
import { A2AService } from "../../../../gen/a2a/v1/a2a_pb.js";
import { printMessage } from "../../json/print.ts";
import { readMessage } from "../../json/read.ts";
import { type RestBinding, type RestRoute, routesOf } from "../../rest/binding.ts";
import { compileTemplate } from "../../rest/template.ts";
import { legacyRestError } from "../errors.ts";
import { protoCreateBody, protoSendBody } from "./kind-body.ts";

type Method = DescMethodUnary | DescMethodServerStreaming;

/** Every route of 0.3. The rules of its proto know no tenant, so each route is there a second time with one. */
export function v03Routes(): RestRoute[] {
  const routes = routesOf(A2AService, bindingOf);
  return routes.flatMap((route) => [
    route,
    { ...route, template: compileTemplate(`/{tenant}${route.template.source}`) },
  ]);
}

function bindingOf(method: Method): RestBinding {
  const prepare = preparation(method);
  return {
    form: "0.3",
    method,
    readRequest: (json) => readMessage(method.input, prepare(json)),
    printResult: (result) => JSON.stringify(printMessage(method.output, result)),
    printError: legacyRestError,
  };
}

function preparation(method: Method): (json: JsonObject) => JsonObject {
  switch (method) {
    case A2AService.method.sendMessage:
    case A2AService.method.sendStreamingMessage:
      return protoSendBody;
    case A2AService.method.createTaskPushNotificationConfig:
      return protoCreateBody;
    default:
      return (json) => json;
  }
}
