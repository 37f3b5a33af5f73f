/** JSON-RPC 2.0 over HTTP: reads the frame, finds the binding of its method, prints what the dispatcher answers. */
import type { DescService, Message } from "@bufbuild/protobuf";
import type { Caller } from "../../domain/caller.ts";
import { BatonError } from "../../domain/errors.ts";
import type { ProtocolVersion, StreamItem } from "../../service/call.ts";
import type { Dispatcher } from "../../service/dispatcher.ts";
import { DEFAULT_MAX_BODY_BYTES, readBody } from "../body.ts";
import { JSON_TYPE, requireJson } from "../content-type.ts";
import { FramedEvents } from "../framed-events.ts";
import type { CallRequest, CallResponse, LeanRequest, UnaryAwareHandler } from "../http-handler.ts";
import { type HttpMeta, type OpenHttpMeta, requestMeta } from "../request-meta.ts";
import { allowHeader, errorHeaders, publicError, respond } from "../respond.ts";
import { FramesOf } from "../shared-frames.ts";
import { DEFAULT_SSE, type SseEvent, type SseOptions, startSse, streamable } from "../sse.ts";
import { decodeSegment, parseTarget, type Target } from "../target.ts";
import { bindingsOf, type JsonRpcBinding, type JsonRpcBindings } from "./binding.ts";
import { errorEnvelope, resultEnvelope } from "./envelope.ts";
import { errorObject, errorStatus } from "./errors.ts";
import { type Frame, NULL_ID, readFrame } from "./frame.ts";

export interface JsonRpcOptions {
  readonly dispatcher: Dispatcher;
  /** Every rpc of this service is a method under its own name. */
  readonly service: DescService;
  /** More methods, such as those of A2A 0.3; the names must differ. */
  readonly moreBindings?: JsonRpcBindings;
  /** First path segments that are never a tenant, as they belong to others: `tasks`, `message:send`, `healthz`. */
  readonly reserved: ReadonlySet<string>;
  /** In bytes. */
  readonly maxBodyBytes?: number;
  /**
   * How an error before the first event of a stream is answered: as JSON, which the specification's test kit and most
   * clients understand, or as the only event of a stream, for fleets of Go clients, which end silently on JSON (a2a.md
   * 2.5.1). Default `json`.
   */
  readonly earlyStreamErrors?: "json" | "sse";
  readonly sse?: SseOptions;
  /** Told of every error that is answered, with the cause that the client does not see. */
  readonly onError?: (error: BatonError, meta: HttpMeta) => void;
}

const METHODS = ["POST", "OPTIONS"];

/** Serves `POST /` and `POST /{tenant}`. */
export function createJsonRpcHandler(options: JsonRpcOptions): UnaryAwareHandler {
  const bindings = new Map([...bindingsOf(options.service), ...(options.moreBindings ?? [])]);
  const server = new JsonRpcServer(options, bindings);
  const mayStream = streamPattern(bindings);
  const isOwn = ({ segments }: Target): boolean => {
    const [tenant] = segments;
    return segments.length < 2 && (tenant === undefined || !options.reserved.has(tenant));
  };
  const handler = (request: CallRequest, response: CallResponse) => {
    const target = parseTarget(request.url ?? "/");
    return isOwn(target) && server.serve(request, response, target).then(taken);
  };
  const isUnary = ({ method, url, body }: LeanRequest) =>
    isOwn(parseTarget(url)) ? method === "POST" && !mayStream.test(body) : undefined;
  return Object.assign(handler, { isUnary });
}

/**
 * Finds every body that could name a method with a stream, before it may be parsed: as it is, or with letters or slashes
 * that are escaped. What it finds besides is a text that looks alike.
 */
function streamPattern(bindings: JsonRpcBindings): RegExp {
  const names = [...bindings].flatMap(([name, { method }]) =>
    method.methodKind === "server_streaming" ? [`"${name}"`] : [],
  );
  return new RegExp([...names, "\\\\u00[2-7]", "\\\\/"].join("|"));
}

function taken(): true {
  return true;
}

/** One request and where its answer goes. */
interface Exchange {
  readonly request: CallRequest;
  readonly response: CallResponse;
  readonly meta: OpenHttpMeta;
  /** Of the frame; {@link NULL_ID} until that is read. */
  id: string;
  binding?: JsonRpcBinding | undefined;
}

class JsonRpcServer {
  readonly #options: JsonRpcOptions;
  readonly #bindings: JsonRpcBindings;
  readonly #frames = new FramesOf<JsonRpcBinding>();

  constructor(options: JsonRpcOptions, bindings: JsonRpcBindings) {
    this.#options = options;
    this.#bindings = bindings;
  }

  async serve(request: CallRequest, response: CallResponse, target: Target): Promise<void> {
    const base = { transport: "jsonrpc", form: "1.0", target } as const;
    const meta = requestMeta(request, response, base);
    const exchange: Exchange = { request, response, meta, id: NULL_ID };
    try {
      if (request.method === "OPTIONS") {
        respond(request, response, { status: 204, headers: [allowHeader(METHODS)] });
        return;
      }
      if (request.method !== "POST") throw new BatonError("MethodNotAllowed", "JSON-RPC is POST only");
      const [tenant] = target.segments;
      if (tenant !== undefined) meta.pathTenant = decodeSegment(tenant);
      const caller = await this.#options.dispatcher.authenticate(meta);
      requireJson(meta.header("content-type"), meta.header("content-encoding"));
      const text = await readBody(request, this.#options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
      const { frame, binding } = this.#read(exchange, text, caller);
      await this.#call(exchange, frame, binding, caller);
    } catch (thrown) {
      this.#refuse(exchange, thrown);
    }
  }

  /** Reads the frame and notes on the exchange what a refusal of it would need. */
  #read(
    exchange: Exchange,
    text: string,
    caller: Caller,
  ): { readonly frame: Frame; readonly binding: JsonRpcBinding } {
    const frame = readFrame(text);
    const binding = frame.method === undefined ? undefined : this.#bindings.get(frame.method);
    exchange.id = frame.id;
    exchange.binding = binding;
    if (frame.method !== undefined) {
      exchange.meta.form = binding?.form ?? formOf(frame.method);
      this.#options.dispatcher.checkVersion(exchange.meta, caller);
    }
    if ("error" in frame) throw frame.error;
    if (binding === undefined) throw new BatonError("MethodNotFound", "there is no such method");
    return { frame, binding };
  }

  async #call(exchange: Exchange, frame: Frame, binding: JsonRpcBinding, caller: Caller): Promise<void> {
    const { request, response, meta } = exchange;
    const { dispatcher, sse = DEFAULT_SSE } = this.#options;
    const message = binding.readRequest(frame.params);
    const { method } = binding;
    if (method.methodKind === "server_streaming") {
      const out = streamable(response);
      const { items, headers } = await dispatcher.stream(method, message, meta, caller);
      startSse(out, headers, this.#events(items, frame, binding, message, meta), sse);
      return;
    }
    const result = await dispatcher.unary(method, message, meta, caller);
    const body = resultEnvelope(frame.id, binding.printResult(result.message, message));
    respond(request, response, { status: 200, headers: result.headers, contentType: JSON_TYPE, body });
  }

  /** Each frame has the id of the request (A2A-137); an error is the last frame (A2A-140). */
  #events(
    items: AsyncIterable<StreamItem<Message>>,
    { id: requestId }: Frame,
    binding: JsonRpcBinding,
    request: Message,
    meta: HttpMeta,
  ): AsyncIterable<SseEvent | Buffer> {
    const frames = this.#frames.get(binding);
    const { onError } = this.#options;
    const print = (message: Message) => binding.printResult(message, request);
    const wrap = (result: string) => resultEnvelope(requestId, result);
    return new FramedEvents(
      items,
      ({ message, id }) => frames.frame(message, id, requestId, print, wrap),
      (thrown) => {
        const error = publicError(thrown);
        onError?.(error, meta);
        return { data: errorEnvelope(requestId, binding.printError(error)) };
      },
    );
  }

  #refuse({ request, response, meta, id, binding }: Exchange, thrown: unknown): void {
    const error = publicError(thrown);
    this.#options.onError?.(error, meta);
    const body = errorEnvelope(id, binding === undefined ? errorObject(error) : binding.printError(error));
    const headers = errorHeaders(error, meta.requestId);
    const status = errorStatus(error);
    const streams = binding?.method.methodKind === "server_streaming";
    if (streams && status === 200 && this.#options.earlyStreamErrors === "sse") {
      startSse(streamable(response), headers, oneEvent({ data: body }), this.#options.sse);
      return;
    }
    if (error.kind === "MethodNotAllowed") headers.push(allowHeader(METHODS));
    respond(request, response, { status, headers, contentType: JSON_TYPE, body });
  }
}

/** The version that has such names, where no binding knows this one (A2A-135). */
function formOf(method: string): ProtocolVersion {
  return method.includes("/") ? "0.3" : "1.0";
}

async function* oneEvent(event: SseEvent): AsyncGenerator<SseEvent> {
  yield event;
}
