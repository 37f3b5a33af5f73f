/** HTTP+JSON: routes by the HTTP rules of the descriptor, prints what the dispatcher answers. */
import type { DescService, JsonValue, Message } from "@bufbuild/protobuf";
import type { Caller } from "../../domain/caller.ts";
import { BatonError } from "../../domain/errors.ts";
import type { StreamItem } from "../../service/call.ts";
import type { Dispatcher } from "../../service/dispatcher.ts";
import { DEFAULT_MAX_BODY_BYTES, readBody } from "../body.ts";
import { jsonTypeFor, requireJson } from "../content-type.ts";
import { FramedEvents } from "../framed-events.ts";
import type { CallRequest, CallResponse, LeanRequest, UnaryAwareHandler } from "../http-handler.ts";
import { type HttpMeta, type OpenHttpMeta, requestMeta } from "../request-meta.ts";
import { allowHeader, errorHeaders, publicError, respond } from "../respond.ts";
import { FramesOf } from "../shared-frames.ts";
import { DEFAULT_SSE, type SseEvent, type SseOptions, startSse, streamable } from "../sse.ts";
import { decodeSegment, parseTarget, type Target } from "../target.ts";
import { type RestBinding, type RestRoute, routesOf } from "./binding.ts";
import { restError } from "./errors.ts";
import { requestJson } from "./request.ts";
import { type PathMatch, type RouteMatch, Router } from "./router.ts";

export interface RestOptions {
  readonly dispatcher: Dispatcher;
  /** Every HTTP rule of this service is a route. */
  readonly service: DescService;
  /** More routes, such as those of A2A 0.3 under `/v1`. */
  readonly moreRoutes?: readonly RestRoute[];
  /** First path segments that are never a tenant, besides those that the routes spell out. */
  readonly reserved?: ReadonlySet<string>;
  /** In bytes. */
  readonly maxBodyBytes?: number;
  readonly sse?: SseOptions;
  /** Told of every error that is answered, with the cause that the client does not see. */
  readonly onError?: (error: BatonError, meta: HttpMeta) => void;
}

/** Serves the routes of a service; a path that is none of them is not its own. */
export function createRestHandler(options: RestOptions): UnaryAwareHandler {
  const routes = [...routesOf(options.service), ...(options.moreRoutes ?? [])];
  const router = new Router(routes, options.reserved);
  const server = new RestServer(options);
  const handler = (request: CallRequest, response: CallResponse) => {
    const target = parseTarget(request.url ?? "/");
    const path = router.match(target.segments);
    return path !== undefined && server.serve(request, response, target, path).then(taken);
  };
  const isUnary = ({ method, url }: LeanRequest) => {
    const path = router.match(parseTarget(url).segments);
    return path && path.byMethod.get(method)?.route.binding.method.methodKind === "unary";
  };
  return Object.assign(handler, { isUnary });
}

function taken(): true {
  return true;
}

function bare(text: string): string {
  return text;
}

/** One request and where its answer goes. */
interface Exchange {
  readonly request: CallRequest;
  readonly response: CallResponse;
  readonly meta: OpenHttpMeta;
  caller?: Caller;
}

class RestServer {
  readonly #options: RestOptions;
  readonly #frames = new FramesOf<RestBinding>();

  constructor(options: RestOptions) {
    this.#options = options;
  }

  async serve(
    request: CallRequest,
    response: CallResponse,
    target: Target,
    path: PathMatch<RestRoute>,
  ): Promise<void> {
    const methods = methodsOf(path);
    if (request.method === "OPTIONS") {
      respond(request, response, { status: 204, headers: [allowHeader(methods)] });
      return;
    }
    const match = methods.includes(request.method ?? "")
      ? path.byMethod.get(request.method === "HEAD" ? "GET" : (request.method ?? ""))
      : undefined;
    const form = match?.route.binding.form ?? "1.0";
    const exchange: Exchange = {
      request,
      response,
      meta: requestMeta(request, response, { transport: "rest", form, target }),
    };
    try {
      if (match === undefined) {
        response.setHeader(...allowHeader(methods));
        throw new BatonError("MethodNotAllowed", "the path does not have this method");
      }
      noteRoute(exchange.meta, match);
      const caller = await this.#options.dispatcher.authenticate(exchange.meta);
      exchange.caller = caller;
      this.#options.dispatcher.checkVersion(exchange.meta, caller);
      const body = match.route.body === "" ? "" : await this.#body(exchange);
      await this.#call(exchange, match.route.binding, requestJson(match, target.query, body), caller);
    } catch (thrown) {
      this.#refuse(exchange, thrown, match?.route.binding);
    }
  }

  /** An empty body needs no type; cancel and subscribe are sent without one (A2A-126). */
  async #body({ request, meta }: Exchange): Promise<string> {
    const text = await readBody(request, this.#options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
    if (text !== "") requireJson(meta.header("content-type"), meta.header("content-encoding"));
    return text;
  }

  async #call(
    { request, response, meta }: Exchange,
    binding: RestBinding,
    json: { [key: string]: JsonValue },
    caller: Caller,
  ): Promise<void> {
    const { dispatcher, sse = DEFAULT_SSE } = this.#options;
    const message = binding.readRequest(json);
    const { method } = binding;
    if (method.methodKind === "server_streaming") {
      const out = streamable(response);
      const { items, headers } = await dispatcher.stream(method, message, meta, caller);
      startSse(out, headers, this.#events(items, binding, message, meta, caller), sse);
      return;
    }
    const result = await dispatcher.unary(method, message, meta, caller);
    // Always 200 with a body: some clients accept nothing else (A2A-121).
    respond(request, response, {
      status: 200,
      headers: result.headers,
      contentType: jsonType(meta),
      body: binding.printResult(result.message, message),
    });
  }

  /** Bare events without an envelope (A2A-138); an error is the last one and says so by its name (A2A-140). */
  #events(
    items: AsyncIterable<StreamItem<Message>>,
    binding: RestBinding,
    request: Message,
    meta: HttpMeta,
    caller: Caller,
  ): AsyncIterable<SseEvent | Buffer> {
    const frames = this.#frames.get(binding);
    const { onError, dispatcher } = this.#options;
    const print = (message: Message) => binding.printResult(message, request);
    return new FramedEvents(
      items,
      ({ message, id }) => frames.frame(message, id, "", print, bare),
      (thrown) => {
        const error = publicError(thrown);
        onError?.(error, meta);
        const { body } = binding.printError(error, dispatcher.errorTable(caller));
        return { event: "error", data: JSON.stringify(body) };
      },
    );
  }

  #refuse({ request, response, meta, caller }: Exchange, thrown: unknown, binding?: RestBinding): void {
    const error = publicError(thrown);
    this.#options.onError?.(error, meta);
    const { status, body } = (binding?.printError ?? restError)(
      error,
      this.#options.dispatcher.errorTable(caller),
    );
    respond(request, response, {
      status,
      headers: errorHeaders(error, meta.requestId),
      contentType: jsonType(meta),
      body: JSON.stringify(body),
    });
  }
}

function jsonType(meta: HttpMeta): string {
  return jsonTypeFor(meta.header("accept"), meta.header("content-type"));
}

/** HEAD goes with every GET but a stream's: a stream has no head without its events. */
function methodsOf({ byMethod }: PathMatch<RestRoute>): string[] {
  const methods = [...byMethod.keys(), "OPTIONS"];
  const get = byMethod.get("GET");
  return get === undefined || get.route.binding.method.methodKind === "server_streaming"
    ? methods
    : [...methods, "HEAD"];
}

function noteRoute(meta: OpenHttpMeta, { route, captures }: RouteMatch<RestRoute>): void {
  meta.route = route.template.source;
  const tenant = captures.find(({ field }) => field === "tenant");
  if (tenant !== undefined) meta.pathTenant = tenant.raw.map(decodeSegment).join("/");
}
