/**
 * gRPC, gRPC-Web and Connect for every service of the Dispatcher. The routes come from the service descriptors, so a new
 * method is served once the proto has it. connect-es does the framing of answers; requests are read here
 * (connect/request-message.ts), after the credential has been checked and before connect-es sees a byte.
 */
import { type DescMessage, type DescMethod, toBinary, toJsonString } from "@bufbuild/protobuf";
import { createConnectRouter, createContextValues, type HandlerContext } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { BatonError } from "../domain/errors.ts";
import { admit, stateKey } from "./connect/admission.ts";
import { toConnectError, writeError, writeHttpError } from "./connect/errors.ts";
import { addJsonMethod, addMethod } from "./connect/methods.ts";
import type { ConnectHandlerOptions } from "./connect/options.ts";
import { DEFAULT_READ_MAX_BYTES, type RequestBody, readRequestMessage } from "./connect/request-message.ts";
import { inSlices } from "./connect/slices.ts";
import { onlyRpc, type Wire, wireOf } from "./connect/wire.ts";
import { clientAddress } from "./forwarded.ts";
import { encodeMessage } from "./grpc/message-text.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "./http-handler.ts";
import { onlyThis } from "./sse.ts";
import { cutWhenStalled, STALL_MS } from "./stall.ts";

export type { ConnectHandlerOptions, PlainService } from "./connect/options.ts";

/** Headers of the request that speak of its body, which connect-es is not given. */
const BODY_HEADERS = ["content-length", "content-encoding", "connect-content-encoding", "grpc-encoding"];
/** The longest wait of a Node timer; a longer deadline is none, where a timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const TAKEN = Promise.resolve(true);

/** Serves the services that the dispatcher has at this moment; register them first. */
export function createConnectHandler(options: ConnectHandlerOptions): HttpHandler {
  const { dispatcher } = options;
  const handlers = new Map<string, UniversalHandler>();
  /** The same methods where the client speaks JSON. */
  const printing = new Map<UniversalHandler, UniversalHandler>();
  const services = new Set<string>();
  const requestGate = (context: HandlerContext) => admit(context, options);
  const dispatched = createConnectRouter({ requestGate });
  const printed = createConnectRouter({ requestGate });
  for (const service of dispatcher.services) {
    for (const method of service.methods) {
      addMethod(dispatched, method, options);
      addJsonMethod(printed, method, options);
    }
  }
  const plain = createConnectRouter({
    readMaxBytes: options.readMaxBytes ?? DEFAULT_READ_MAX_BYTES,
    ...(options.shutdown === undefined ? {} : { shutdownSignal: options.shutdown }),
  });
  for (const add of options.plainServices ?? []) add(plain);
  for (const handler of [...dispatched.handlers, ...plain.handlers]) {
    handlers.set(handler.requestPath, handler);
    services.add(handler.service.typeName);
  }
  for (const handler of printed.handlers) {
    const binary = handlers.get(handler.requestPath);
    if (binary !== undefined) printing.set(binary, handler);
  }

  return (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const handler = handlers.get(path);
    const wire = wireOf(request.headers["content-type"]);
    if (handler === undefined) {
      const service = /^\/([\w.]+)\/\w+$/.exec(path)?.[1];
      const connectVersion = request.headers["connect-protocol-version"];
      const known = service !== undefined && services.has(service);
      if (!known && !onlyRpc(wire, connectVersion === undefined ? undefined : String(connectVersion))) {
        return false;
      }
      request.resume();
      const error = new BatonError("MethodNotFound", "unknown method");
      if (wire === undefined) writeHttpError(response, 404, error);
      else writeError(response, wire, error, dispatcher);
      return TAKEN;
    }
    if (!fits(request, response, handler, wire)) return TAKEN;
    const own = printing.get(handler);
    const chosen = wire.json && own !== undefined ? own : handler;
    return serve(request, response, chosen, wire, own !== undefined, options).then(() => true);
  };
}

/** Refuses what is no call of this method at all, by HTTP status. */
function fits(
  request: HttpRequest,
  response: HttpResponse,
  { method }: UniversalHandler,
  wire: Wire | undefined,
): wire is Wire {
  if (request.method !== "POST") {
    request.resume();
    response.setHeader("allow", "POST");
    writeHttpError(response, 405, new BatonError("MethodNotAllowed", "RPCs are called with POST"));
    return false;
  }
  const bare = wire?.protocol === "connect" && !wire.enveloped;
  const mismatch = wire?.protocol === "connect" && (method.methodKind === "unary") !== bare;
  if (wire === undefined || mismatch) {
    request.resume();
    response.setHeader("accept-post", acceptPost(method));
    const message = "the Content-Type is of no protocol that serves this method";
    writeHttpError(response, 415, new BatonError("InvalidRequest", message));
    return false;
  }
  return true;
}

function acceptPost(method: DescMethod): string {
  const connect = method.methodKind === "unary" ? "application/" : "application/connect+";
  return ["application/grpc", "application/grpc-web", `${connect}proto`, `${connect}json`].join(", ");
}

async function serve(
  request: HttpRequest,
  response: HttpResponse,
  handler: UniversalHandler,
  wire: Wire,
  dispatched: boolean,
  options: ConnectHandlerOptions,
): Promise<void> {
  const values = createContextValues();
  let universal: ReturnType<typeof universalRequestFromNodeRequest>;
  try {
    universal = universalRequestFromNodeRequest(request, response, undefined, values);
  } catch {
    // No authority, or one that is no host name.
    request.resume();
    const error = new BatonError("InvalidRequest", "the request names no valid host");
    writeError(response, wire, error, options.dispatcher);
    return;
  }
  const header = new Headers(universal.header);
  dropEndlessTimeout(header);
  const { methodKind, input } = handler.method;
  if (methodKind !== "unary") onlyThis(response);
  if (methodKind === "unary" || methodKind === "server_streaming") {
    const body: RequestBody = {
      wire,
      header: universal.header,
      // Of a Node request, so bytes.
      body: universal.body as AsyncIterable<Uint8Array>,
      maxBytes: options.readMaxBytes ?? DEFAULT_READ_MAX_BYTES,
    };
    for (const name of BODY_HEADERS) header.delete(name);
    if (dispatched) {
      values.set(stateKey, { ...body, remoteAddress: clientAddress(request) });
      universal = { ...universal, body: placeholder(wire) };
    } else {
      universal = { ...universal, body: checked(input, body) };
    }
  }
  const stop = cutWhenStalled(response, options.stallMs ?? STALL_MS);
  try {
    const answer = await handler({ ...universal, header });
    await Promise.race([universalResponseToNodeResponse(readable(answer), response), closed(response)]);
  } catch (thrown) {
    if (!response.headersSent && !response.writableEnded) {
      writeError(response, wire, BatonError.from(thrown), options.dispatcher);
    }
    // Otherwise the connection broke while the answer was written: there is nobody left to tell.
  } finally {
    stop();
  }
}

/**
 * Escapes in `grpc-message` what the protocol says must be. connect-es escapes more, and `@grpc/grpc-js` would show a
 * colon as `%3A`. The trailers are read when the body has been written, so only then are they final. The body is written
 * in slices, so that a slow client is not taken for one that stalls.
 */
function readable({ body, ...answer }: UniversalServerResponse): UniversalServerResponse {
  const { trailer } = answer;
  const sliced = body === undefined ? answer : { ...answer, body: inSlices(body) };
  if (trailer === undefined) return sliced;
  return {
    ...sliced,
    get trailer() {
      const text = trailer.get("grpc-message");
      if (text !== null) trailer.set("grpc-message", encodeMessage(decodeURIComponent(text)));
      return trailer;
    },
  };
}

/** connect-es waits for an `end` that a response never emits, so the end of the response is watched here. */
function closed(response: HttpResponse): Promise<void> {
  return new Promise((resolve) => response.once("close", () => resolve()));
}

/** An empty message in the framing of the request: what connect-es parses instead of the one that we read. */
async function* placeholder(wire: Wire): AsyncGenerator<Uint8Array> {
  yield framed(wire, wire.json ? Buffer.from("{}") : Buffer.alloc(0));
}

/** The message of a plain service, once it is known to be in order; a fault is told as our table says. */
async function* checked(desc: DescMessage, request: RequestBody): AsyncGenerator<Uint8Array> {
  try {
    const message = await readRequestMessage(desc, request);
    const json = request.wire.json;
    yield framed(request.wire, json ? Buffer.from(toJsonString(desc, message)) : toBinary(desc, message));
  } catch (thrown) {
    throw toConnectError(BatonError.from(thrown));
  }
}

function framed({ enveloped }: Wire, message: Uint8Array): Uint8Array {
  if (!enveloped) return message;
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function dropEndlessTimeout(header: Headers): void {
  const grpc = /^(\d{1,8})([HMS])$/.exec(header.get("grpc-timeout") ?? "");
  const unit = { H: 3_600_000, M: 60_000, S: 1_000 }[grpc?.[2] ?? ""] ?? 0;
  if (Number(grpc?.[1] ?? 0) * unit > MAX_TIMER_MS) header.delete("grpc-timeout");
  if (/^\d{10}$/.test(header.get("connect-timeout-ms") ?? "")) {
    if (Number(header.get("connect-timeout-ms")) > MAX_TIMER_MS) header.delete("connect-timeout-ms");
  }
}
