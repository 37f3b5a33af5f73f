import type { Caller } from "../domain/caller.ts";
import { BatonError } from "../domain/errors.ts";
import type { CallObserver, Outcome } from "../telemetry/calls.ts";
import type { Call, RequestMeta } from "./call.ts";

export interface ObservedMethod {
  /** `package.Service/Method`. */
  readonly method: string;
  readonly stream: boolean;
  /** Known where the transport authenticated before it read the request. */
  readonly caller?: Caller | undefined;
}

/** Measures one call from its dispatch on, and tells the observer of its end once. */
export class ObservedCall {
  readonly #observe: CallObserver;
  readonly #meta: RequestMeta;
  readonly #method: ObservedMethod;
  readonly #begun = performance.now();
  #call: Call | undefined;
  #ended = false;

  constructor(observe: CallObserver, meta: RequestMeta, method: ObservedMethod) {
    this.#observe = observe;
    this.#meta = meta;
    this.#method = method;
  }

  /** Agent, caller and version are known now. */
  prepared(call: Call): void {
    this.#call = call;
  }

  end(outcome: Outcome): void {
    if (this.#ended) return;
    this.#ended = true;
    const { method, stream, caller } = this.#method;
    const { transport, form, requestId = "" } = this.#meta;
    const call = this.#call;
    this.#observe({
      method,
      stream,
      transport,
      agent: call?.agent ?? caller?.agent ?? "",
      endpoint: call?.caller.id ?? caller?.id ?? "",
      requestId: call?.requestId ?? requestId,
      ...traceOf(this.#meta),
      version: call?.version ?? form,
      outcome,
      ms: performance.now() - this.#begun,
    });
  }

  /** The same stream; its end, its error or its reader's leaving is the end of the call. */
  watch<T>(producer: AsyncIterator<T>): AsyncIterator<T> {
    return {
      next: async () => {
        try {
          const result = await producer.next();
          if (result.done === true) this.end(this.#meta.signal.aborted ? "Canceled" : "ok");
          return result;
        } catch (thrown) {
          this.end(BatonError.from(thrown).kind);
          throw thrown;
        }
      },
      return: async () => {
        this.end(this.#meta.signal.aborted ? "Canceled" : "ok");
        return (await producer.return?.()) ?? { done: true, value: undefined };
      },
    };
  }
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;

function traceOf(meta: RequestMeta): { readonly trace?: string } {
  const [, trace] = TRACEPARENT.exec(meta.header("traceparent") ?? "") ?? [];
  return trace === undefined ? {} : { trace };
}
