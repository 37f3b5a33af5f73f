import {
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import type { StreamItem } from "../../service/call.ts";
import { untilAborted } from "./abort.ts";
import { admitted } from "./admission.ts";
import { copyHeaders, failure } from "./errors.ts";
import type { ConnectHandlerOptions } from "./options.ts";

/** Routes one method to the dispatcher. */
export function addMethod(router: ConnectRouter, method: DescMethod, options: ConnectHandlerOptions): void {
  const { dispatcher } = options;
  if (isUnary(method)) {
    router.rpc(method, async (_placeholder: Message, context: HandlerContext) => {
      const { wire, message, meta, caller } = admitted(context);
      try {
        const result = await untilAborted(dispatcher.unary(method, message, meta, caller), context.signal);
        copyHeaders(result.headers, context.responseHeader);
        if (wire.json) assertPrintable(method, result.message);
        return result.message;
      } catch (thrown) {
        throw failure(thrown, context, options);
      }
    });
  } else if (isServerStreaming(method)) {
    router.rpc(method, async function* (_placeholder: Message, context: HandlerContext) {
      const { wire, message, meta, caller } = admitted(context);
      let iterator: AsyncIterator<StreamItem<Message>> | undefined;
      try {
        const start = dispatcher.stream(method, message, meta, caller);
        const stream = await untilAborted(start, context.signal, ({ items }) => abandon(items));
        copyHeaders(stream.headers, context.responseHeader);
        iterator = stream.items[Symbol.asyncIterator]();
        for (;;) {
          const next = await untilAborted(iterator.next(), context.signal);
          if (next.done === true) break;
          if (next.value.id !== undefined) context.responseTrailer.set("a2a-last-event-id", next.value.id);
          if (wire.json) assertPrintable(method, next.value.message);
          yield next.value.message;
        }
      } catch (thrown) {
        throw failure(thrown, context, options);
      } finally {
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

/**
 * Some messages have no JSON, such as a Value that a binary client set to NaN. connect-es would send the text of the
 * printer's error; here it becomes an ordinary internal error (A2A-160).
 */
function assertPrintable({ output }: DescMethod, message: Message): void {
  toJson(output, message);
}

/** Starts a stream that nobody waits for any more, only so that its own clean-up runs. */
async function abandon(items: AsyncIterable<unknown>): Promise<void> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    await iterator.next();
    await iterator.return?.();
  } catch {
    // It failed after its client had gone.
  }
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function isServerStreaming(method: DescMethod): method is DescMethodServerStreaming {
  return method.methodKind === "server_streaming";
}
