import {
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromJson,
  type Message,
} from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import type { StreamResult } from "../../service/answer.ts";
import type { StreamItem } from "../../service/call.ts";
import { printMessage } from "../json/print.ts";
import { printOptionsFor } from "../json/print-options.ts";
import { untilAborted } from "./abort.ts";
import { admitted } from "./admission.ts";
import { copyHeaders, failure } from "./errors.ts";
import type { ConnectHandlerOptions } from "./options.ts";

/** Deeper than any message can be: each level of JSON counts as two in a Struct. */
const PRINT_RECURSION = 1000;

/** Routes one method to the dispatcher, for clients that speak protobuf. */
export function addMethod(router: ConnectRouter, method: DescMethod, options: ConnectHandlerOptions): void {
  route(router, method, options, (message) => message);
}

/**
 * The same for clients that speak JSON. connect-es prints by the plain rules of ProtoJSON, which leave out required
 * fields that are empty; so the answer is printed as on the other transports, and handed over as a Struct, whose JSON is
 * that very object (A2A-62, A2A-115). What has no JSON fails here and is told as our own error (A2A-160).
 */
export function addJsonMethod(
  router: ConnectRouter,
  method: DescMethod,
  options: ConnectHandlerOptions,
): void {
  const printed = { ...method, output: StructSchema } as DescMethod;
  route(router, printed, options, (message, request) => {
    const json = printMessage(method.output, message, printOptionsFor(method.input, request));
    return fromJson(StructSchema, json, { recursionLimit: PRINT_RECURSION });
  });
}

type Output = (message: Message, request: Message) => Message;

function route(
  router: ConnectRouter,
  method: DescMethod,
  options: ConnectHandlerOptions,
  output: Output,
): void {
  const { dispatcher } = options;
  if (isUnary(method)) {
    router.rpc(method, async (_placeholder: Message, context: HandlerContext) => {
      const { message, meta, caller } = admitted(context);
      try {
        const result = await untilAborted(dispatcher.unary(method, message, meta, caller), context.signal);
        copyHeaders(result.headers, context.responseHeader);
        setTrailers(result.trailers, context);
        return output(result.message, message);
      } catch (thrown) {
        throw failure(thrown, context, options, { caller, requestId: meta.requestId });
      }
    });
  } else if (isServerStreaming(method)) {
    router.rpc(method, async function* (_placeholder: Message, context: HandlerContext) {
      const { message, meta, caller } = admitted(context);
      let iterator: AsyncIterator<StreamItem<Message>> | undefined;
      let trailers: StreamResult<Message>["trailers"];
      try {
        const start = dispatcher.stream(method, message, meta, caller);
        const stream = await untilAborted(start, context.signal, ({ items }) => abandon(items));
        copyHeaders(stream.headers, context.responseHeader);
        trailers = stream.trailers;
        iterator = stream.items[Symbol.asyncIterator]();
        for (;;) {
          const next = await untilAborted(iterator.next(), context.signal);
          if (next.done === true) break;
          yield output(next.value.message, message);
        }
      } catch (thrown) {
        throw failure(thrown, context, options, { caller, requestId: meta.requestId });
      } finally {
        setTrailers(trailers, context);
        // Not awaited: a generator that is waiting ends when its own wait does.
        iterator?.return?.().catch(() => {});
      }
    });
  } else {
    throw new Error(
      `${method.parent.typeName}.${method.name}: the dispatcher has no client-streaming methods`,
    );
  }
}

function setTrailers(trailers: StreamResult<Message>["trailers"], context: HandlerContext): void {
  for (const [name, value] of Object.entries(trailers?.() ?? {})) context.responseTrailer.set(name, value);
}

/** Nobody waits for the stream any more. */
function abandon(items: AsyncIterable<unknown>): void {
  items[Symbol.asyncIterator]()
    .return?.()
    .catch(() => {});
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function isServerStreaming(method: DescMethod): method is DescMethodServerStreaming {
  return method.methodKind === "server_streaming";
}
