/** gRPC-Web and Connect in binary form, with the client of `@connectrpc/connect-node`. */
import {
  type Client,
  Code,
  ConnectError,
  createClient,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { expect } from "vitest";
import { A2AService, type StreamResponse } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { GRPC_CODE } from "../../../src/domain/errors.ts";
import {
  type CallOptions,
  type Driver,
  type DriverKind,
  type Feature,
  methodOf,
  type Operation,
  type Reply,
  type UnaryOperation,
  WireError,
} from "../driver.ts";
import { checkChallenge, checkErrorInfo } from "./check-error.ts";
import { callHeaders } from "./headers.ts";
import { detailsFromAny, requestBytes, requestMessage } from "./messages.ts";
import { primed } from "./queue.ts";

function wireError(thrown: unknown): WireError {
  const error = ConnectError.from(thrown);
  const details = error.details.map((detail) => {
    if ("desc" in detail) throw new Error("an incoming detail is already decoded");
    return { $typeName: "google.protobuf.Any" as const, typeUrl: `/${detail.type}`, value: detail.value };
  });
  return new WireError({
    ...detailsFromAny(details),
    message: error.rawMessage,
    wire: { grpc: error.code, status: Code[error.code] ?? String(error.code) },
    headers: new Headers(error.metadata),
  });
}

type Caller = (request: unknown, options: object) => unknown;

interface Kind {
  readonly transport: Transport;
  /** Posts a raw body, for what the client cannot say. */
  readonly contentType: string;
  frame(body: Uint8Array): Uint8Array;
}

function driverOver(kind: Kind, url: string): Driver {
  const client: Client<typeof A2AService> = createClient(A2AService, kind.transport);
  const rpc = (operation: Operation): Caller =>
    (client as unknown as Record<string, Caller>)[methodOf(operation).localName] as Caller;

  const callOptions = (options: CallOptions, onHeader: (headers: Headers) => void): object => ({
    headers: callHeaders(options, "1.0"),
    onHeader,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
  });

  return {
    async unary<O extends UnaryOperation>(operation: O, request: object, options: CallOptions) {
      let headers = new Headers();
      const message = requestMessage(methodOf(operation).input, request as never);
      try {
        const answer = await (rpc(operation)(
          message,
          callOptions(options, (seen) => {
            headers = seen;
          }),
        ) as Promise<Reply<O>["message"]>);
        return { message: answer, headers };
      } catch (thrown) {
        throw wireError(thrown);
      }
    },

    async stream(operation, request, options) {
      let headers = new Headers();
      const controller = new AbortController();
      const stop = () => controller.abort();
      options.signal?.addEventListener("abort", stop);
      const message = requestMessage(methodOf(operation).input, request);
      const iterator = (
        rpc(operation)(
          message,
          callOptions({ ...options, signal: controller.signal }, (seen) => {
            headers = seen;
          }),
        ) as AsyncIterable<StreamResponse>
      )[Symbol.asyncIterator]();
      const next = await primed(async () => {
        try {
          const item = await iterator.next();
          return item.done === true ? undefined : item.value;
        } catch (thrown) {
          throw wireError(thrown);
        }
      });
      return {
        next,
        close: stop,
        get headers() {
          return headers;
        },
      };
    },

    async malformed(what, options) {
      const rpcName = what === "unknown-method" ? "NoSuchMethod" : "GetTask";
      const contentType = what === "content-type" ? "text/csv" : kind.contentType;
      const body = what === "garbage" ? Uint8Array.of(0x0a, 0x7f, 0x01) : new Uint8Array();
      const response = await fetch(`${url}/${A2AService.typeName}/${rpcName}`, {
        method: "POST",
        headers: { ...callHeaders(options, "1.0"), "content-type": contentType },
        body: kind.frame(body) as Uint8Array<ArrayBuffer>,
      });
      throw await rawError(response);
    },

    sizeOf: (operation, request) => requestBytes(methodOf(operation).input, request).length,

    checkError(seen, errorKind, options) {
      const { grpc } = checkErrorInfo(seen, errorKind, options);
      expect(seen.wire.grpc, `${errorKind}: ${seen.message}`).toBe(GRPC_CODE[grpc]);
      checkChallenge(seen, errorKind);
    },

    async close() {},
  };
}

/** The error of an answer to a raw request: a Connect error body, or gRPC-Web trailers in the head or the body. */
async function rawError(response: Response): Promise<WireError> {
  const body = Buffer.from(await response.arrayBuffer());
  const type = response.headers.get("content-type") ?? "";
  const wire = { http: response.status, contentType: type };
  if (type.startsWith("application/json")) {
    const { code = "", message = "" } = JSON.parse(body.toString()) as { code?: string; message?: string };
    const name = code.toUpperCase() as keyof typeof GRPC_CODE;
    const grpc = GRPC_CODE[name === ("CANCELED" as string) ? "CANCELLED" : name];
    return bareError(message, { ...wire, grpc }, response.headers);
  }
  const trailers = new Headers(response.headers);
  const text = body.length >= 5 && body[0] === 0x80 ? body.subarray(5).toString() : "";
  for (const line of text.split("\r\n").filter((part) => part.includes(":"))) {
    const colon = line.indexOf(":");
    trailers.set(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const grpc = trailers.get("grpc-status");
  return bareError(
    decodeURIComponent(trailers.get("grpc-message") ?? ""),
    { ...wire, ...(grpc === null ? {} : { grpc: Number(grpc) }) },
    trailers,
  );
}

function bareError(message: string, wire: WireError["seen"]["wire"], headers: Headers): WireError {
  return new WireError({ message, wire, metadata: {}, violations: [], detailTypes: [], headers });
}

function envelope(body: Uint8Array): Uint8Array {
  const framed = new Uint8Array(5 + body.length);
  new DataView(framed.buffer).setUint32(1, body.length);
  framed.set(body, 5);
  return framed;
}

const FEATURES: ReadonlySet<Feature> = new Set(["empty-id", "list", "1.0-form", "error-data"]);

export const grpcWebDriver: DriverKind = {
  name: "grpc-web",
  version: "1.0",
  features: FEATURES,
  async connect({ url }) {
    const transport = createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1" });
    return driverOver({ transport, contentType: "application/grpc-web+proto", frame: envelope }, url);
  },
};

export const connectDriver: DriverKind = {
  name: "connect",
  version: "1.0",
  features: FEATURES,
  async connect({ url }) {
    const transport = createConnectTransport({ baseUrl: url, httpVersion: "1.1", useBinaryFormat: true });
    return driverOver({ transport, contentType: "application/proto", frame: (body) => body }, url);
  },
};

/** Calls that {@link repeatRefused} has repeated in this process. */
export const repeated = { count: 0 };

/**
 * What gRPC libraries do by themselves and connect-node does not: a call that met a GOAWAY before it was sent was not
 * processed (RFC 9113, 8.7), so it is made again, once, on the next connection. As in docs/upgrade.md.
 */
const repeatRefused: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    if (request.stream || !ConnectError.from(error).rawMessage.includes("REFUSED_STREAM")) throw error;
    repeated.count += 1;
    return await next(request);
  }
};

/** gRPC on HTTP/2 with generated clients; not in the table, where `@grpc/grpc-js` speaks it. */
export const grpcByConnectDriver: DriverKind = {
  name: "grpc by connect-node",
  version: "1.0",
  features: FEATURES,
  async connect({ url }) {
    const transport = createGrpcTransport({ baseUrl: url, interceptors: [repeatRefused] });
    return driverOver({ transport, contentType: "application/grpc+proto", frame: envelope }, url);
  },
};
