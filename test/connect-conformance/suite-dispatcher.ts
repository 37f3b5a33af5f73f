import { setTimeout as sleep } from "node:timers/promises";
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type FileRegistry,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import type { Caller } from "../../src/domain/caller.ts";
import { BatonError } from "../../src/domain/errors.ts";
import type { RpcError, StreamResult, UnaryResult } from "../../src/service/answer.ts";
import type { RequestMeta, StreamItem } from "../../src/service/call.ts";
import { Dispatcher } from "../../src/service/dispatcher.ts";
import type { AnyForm } from "./any-form.ts";
import {
  type AskedError,
  type Asking,
  type Header,
  messageOf,
  type StreamDefinition,
  suiteService,
  type UnaryDefinition,
} from "./shapes.ts";

/** An error of any code and with any details, where Baton's own have the rows of its table. */
class SuiteError extends BatonError {
  readonly rpc: RpcError;

  constructor(asked: AskedError, details: Any[], headers: readonly Header[]) {
    super("Unavailable", asked.message ?? "");
    const status = create(StatusSchema, { code: asked.code, message: asked.message ?? "", details });
    this.rpc = { status, metadata: recordOf(headers) };
  }
}

/** Does what the requests of the suite ask for, as the comments of its service.proto say. */
export class SuiteDispatcher extends Dispatcher {
  readonly #service: DescService;
  readonly #payload: DescMessage;
  readonly #info: DescMessage;
  readonly #registry: FileRegistry;
  readonly #form: AnyForm;
  readonly #headers: () => readonly Header[];

  constructor(registry: FileRegistry, form: AnyForm, headers: () => readonly Header[]) {
    const caller: Caller = { kind: "endpoint", id: "suite", agent: "suite", verbs: [], queues: [] } as never;
    super({
      authenticate: () => Promise.resolve(caller),
      hasAgent: () => false,
      versions: ["1.0"],
      strictVersions: false,
    });
    const service = suiteService(registry);
    // Client streams are no part of A2A, and Baton's dispatcher has none.
    const methods = service.methods.filter(
      ({ methodKind }) => methodKind === "unary" || methodKind === "server_streaming",
    );
    this.#service = { ...service, methods };
    this.#payload = messageOf(registry, "ConformancePayload");
    this.#info = messageOf(registry, "ConformancePayload.RequestInfo");
    this.#registry = registry;
    this.#form = form;
    this.#headers = headers;
  }

  override get services(): readonly DescService[] {
    return [this.#service];
  }

  override rpcError(error: BatonError, caller: Caller | undefined): RpcError {
    if (error instanceof SuiteError) return error.rpc;
    // The suite wants no details in the errors of the protocol itself; Baton's tell their reason in them (A2A-148).
    const { status, metadata } = super.rpcError(error, caller);
    return { metadata, status: { ...status, details: [] } };
  }

  override async unary<M extends DescMethodUnary>(
    method: M,
    request: MessageShape<M["input"]>,
    meta: RequestMeta,
  ): Promise<UnaryResult<MessageShape<M["output"]>>> {
    if (method.name === "Unimplemented") throw new BatonError("MethodNotFound", "not implemented");
    const { responseDefinition: asked } = request as Asking<UnaryDefinition>;
    const info = this.#requestInfo(method, request, meta);
    await sleep(asked?.responseDelayMs ?? 0, undefined, { signal: meta.signal });
    if (asked?.response.case === "error") {
      const metadata = [...asked.responseHeaders, ...asked.responseTrailers];
      throw new SuiteError(asked.response.value, this.#details(asked.response.value, info), metadata);
    }
    const data = asked?.response.case === "responseData" ? asked.response.value : new Uint8Array(0);
    const trailers = recordOf(asked?.responseTrailers ?? []);
    const message = this.#answer(method, data, info) as MessageShape<M["output"]>;
    return { message, headers: headersOf(asked?.responseHeaders ?? []), trailers: () => trailers };
  }

  override async stream<M extends DescMethodServerStreaming>(
    method: M,
    request: MessageShape<M["input"]>,
    meta: RequestMeta,
  ): Promise<StreamResult<MessageShape<M["output"]>>> {
    const { responseDefinition: asked } = request as Asking<StreamDefinition>;
    const info = this.#requestInfo(method, request, meta);
    const trailers = recordOf(asked?.responseTrailers ?? []);
    const items = this.#items(method, asked, info, meta.signal);
    return {
      items: items as AsyncIterable<StreamItem<MessageShape<M["output"]>>>,
      headers: headersOf(asked?.responseHeaders ?? []),
      trailers: () => trailers,
    };
  }

  async *#items(
    method: DescMethod,
    asked: StreamDefinition | undefined,
    info: Message,
    signal: AbortSignal,
  ): AsyncGenerator<StreamItem<Message>> {
    let first = true;
    for (const data of asked?.responseData ?? []) {
      await sleep(asked?.responseDelayMs ?? 0, undefined, { signal });
      yield { message: this.#answer(method, data, first ? info : undefined) };
      first = false;
    }
    if (asked?.error !== undefined) {
      throw new SuiteError(asked.error, this.#details(asked.error, first ? info : undefined), []);
    }
  }

  #details(asked: AskedError, info: Message | undefined): Any[] {
    const own = asked.details.map((held) => this.#form.toAny(held));
    return info === undefined ? own : [...own, this.#form.toAny(this.#form.pack(this.#info, info))];
  }

  #answer(method: DescMethod, data: Uint8Array, requestInfo: Message | undefined): Message {
    const payload = create(this.#payload, { data, requestInfo } as Record<string, unknown>);
    return create(messageOf(this.#registry, `${method.name}Response`), { payload } as Record<
      string,
      unknown
    >);
  }

  #requestInfo(method: DescMethod, request: Message, meta: RequestMeta): Message {
    const left =
      meta.deadlineAt === undefined
        ? undefined
        : BigInt(Math.max(0, Math.floor(meta.deadlineAt - Date.now())));
    return create(this.#info, {
      requestHeaders: this.#headers(),
      timeoutMs: left,
      requests: [this.#form.pack(method.input, request)],
    } as Record<string, unknown>);
  }
}

/** A name that is told several times has its values in one line, as HTTP allows. */
function headersOf(list: readonly Header[]): Map<string, string> {
  const headers = new Headers();
  for (const { name, value } of list) for (const one of value) headers.append(name, one);
  return new Map(headers);
}

function recordOf(list: readonly Header[]): Record<string, string> {
  return Object.fromEntries(headersOf(list));
}
