/**
 * gRPC straight on HTTP/2 streams: unary and server-streaming calls, uncompressed or gzip. connect-es serves the rest
 * (transports/connect.ts), and everything when this path is switched off; the two answer alike. Handlers, limits and
 * errors are the dispatcher's on both.
 */
import type { Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { DescMethod } from "@bufbuild/protobuf";
import type { ProtocolVersion } from "../../service/call.ts";
import type { Forwarded } from "../forwarded.ts";
import { type GrpcCallOptions, headerText, type ServedMethod, serveCall } from "./call.ts";
import { answerHeaders } from "./reply.ts";
import { timeoutMs } from "./timeout.ts";

/** Takes an HTTP/2 stream and answers true, or touches nothing and answers false. */
export type Http2StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean;

export interface GrpcHandlerOptions extends Omit<GrpcCallOptions, "answerHeaders"> {
  /** Headers of every answer. */
  readonly baseHeaders: Readonly<Record<string, string>>;
  /** Reads what proxies say; absent: they are not believed. */
  readonly forwarded?: Forwarded;
}

const GRPC = /^application\/grpc(?:\+proto)?(?:;|$)/;

/** Serves the services that the dispatcher has at this moment; register them first. */
export function createGrpcHandler(options: GrpcHandlerOptions): Http2StreamHandler {
  const { forwarded, baseHeaders } = options;
  const callOptions = { ...options, answerHeaders: answerHeaders(baseHeaders) };
  const methods = new Map<string, { readonly method: ServedMethod; readonly form: ProtocolVersion }>();
  for (const service of options.dispatcher.services) {
    const form = service.file.proto.package === "a2a.v1" ? "0.3" : "1.0";
    for (const method of service.methods) {
      if (isServed(method)) methods.set(`/${service.typeName}/${method.name}`, { method, form });
    }
  }
  return (stream, headers) => {
    if (headers[":method"] !== "POST" || !GRPC.test(headers["content-type"] ?? "")) return false;
    const served = methods.get(headers[":path"] ?? "");
    const encoding = headerText(headers, "grpc-encoding") ?? "identity";
    if (served === undefined || (encoding !== "identity" && encoding !== "gzip")) return false;
    const timeout = timeoutMs(headerText(headers, "grpc-timeout"));
    if (Number.isNaN(timeout)) return false;
    const peer = peerOf(stream.session);
    const remoteAddress = forwarded?.client(peer, headerText(headers, "x-forwarded-for") ?? "") ?? peer;
    serveCall(stream, { ...served, headers, remoteAddress, encoding, timeout }, callOptions);
    return true;
  };
}

function isServed(method: DescMethod): method is ServedMethod {
  return method.methodKind === "unary" || method.methodKind === "server_streaming";
}

/** The socket of a session is a proxy, which takes its time. */
const peers = new WeakMap<Http2Session, string>();

function peerOf(session: Http2Session | undefined): string {
  if (session === undefined) return "";
  let peer = peers.get(session);
  if (peer === undefined) {
    peer = session.socket.remoteAddress ?? "";
    peers.set(session, peer);
  }
  return peer;
}
