/** gRPC with `@grpc/grpc-js`, the client that Node programs have. */
import { fromBinary, type JsonObject } from "@bufbuild/protobuf";
import {
  Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { expect } from "vitest";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import { A2AService, type StreamResponse, StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { GRPC_CODE } from "../../../src/domain/errors.ts";
import {
  type Answer,
  type CallOptions,
  type Driver,
  type DriverKind,
  type Malformed,
  methodOf,
  type Operation,
  type Target,
  type UnaryOperation,
  WireError,
} from "../driver.ts";
import { checkErrorInfo } from "./check-error.ts";
import { callHeaders } from "./headers.ts";
import { answerFromBytes, detailsFromAny, NO_DETAILS, requestBytes } from "./messages.ts";
import { Arrivals, primed } from "./queue.ts";

const bytes = (value: Uint8Array): Buffer => Buffer.from(value);
const same = (value: Buffer): Buffer => value;

/** The service of one version of the protocol. */
export interface GrpcDialect {
  readonly service: string;
  /** `A2A-Version` that its clients send; null for none. */
  readonly version: string | null;
  call(operation: Operation, request: JsonObject): { readonly rpc: string; readonly body: Uint8Array };
  answer(operation: UnaryOperation, body: Uint8Array): Answer<UnaryOperation>;
  event(body: Uint8Array): StreamResponse;
  /** Reads the details of an error. */
  readonly details: typeof detailsFromAny;
}

function metadataOf(options: CallOptions, version: string | null): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(callHeaders(options, version))) metadata.set(name, value);
  return metadata;
}

function headersOf(metadata: Metadata): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(metadata.getMap())) {
    if (typeof value === "string") headers.set(name, value);
  }
  return headers;
}

/** Never throws, since it runs in callbacks: what is wrong with the error itself is the error. */
function wireError(error: ServiceError, details: GrpcDialect["details"]): Error {
  try {
    return readError(error, details);
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

function readError(error: ServiceError, read: GrpcDialect["details"]): WireError {
  const encoded = error.metadata?.get("grpc-status-details-bin")[0];
  let details = NO_DETAILS;
  if (Buffer.isBuffer(encoded)) {
    const detailed = fromBinary(StatusSchema, encoded);
    expect(detailed.code, "A2A-148 code in the details").toBe(error.code);
    expect(detailed.message, "A2A-148 message in the details").toBe(error.details);
    details = read(detailed.details);
  }
  return new WireError({
    ...details,
    message: error.details,
    wire: { grpc: error.code, status: status[error.code] ?? String(error.code) },
    headers: headersOf(error.metadata ?? new Metadata()),
  });
}

const deadline = ({ timeoutMs }: CallOptions) =>
  timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };

export async function connectGrpc(dialect: GrpcDialect, { authority, channel }: Target): Promise<Driver> {
  const path = (rpc: string): string => `/${dialect.service}/${rpc}`;
  const client = new Client(authority, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
    "grpc.enable_retries": 0,
    ...channel,
  });

  function call(rpc: string, body: Uint8Array, options: CallOptions): Promise<[Buffer, Headers]> {
    return new Promise((resolve, reject) => {
      let headers = new Headers();
      const running = client.makeUnaryRequest(
        path(rpc),
        bytes,
        same,
        body,
        metadataOf(options, dialect.version),
        deadline(options),
        (error, value) => {
          if (error !== null) reject(wireError(error, dialect.details));
          else if (value === undefined) reject(new Error("neither an answer nor an error"));
          else resolve([value, headers]);
        },
      );
      running.on("metadata", (metadata) => {
        headers = headersOf(metadata);
      });
      options.signal?.addEventListener("abort", () => running.cancel());
    });
  }

  return {
    async unary(operation, request, options) {
      const { rpc, body } = dialect.call(operation, request);
      const [answer, headers] = await call(rpc, body, options);
      return { message: dialect.answer(operation, answer) as never, headers };
    },

    async stream(operation, request, options) {
      const { rpc, body } = dialect.call(operation, request);
      const running: ClientReadableStream<Buffer> = client.makeServerStreamRequest(
        path(rpc),
        bytes,
        same,
        body,
        metadataOf(options, dialect.version),
        deadline(options),
      );
      const arrivals = new Arrivals<StreamResponse>();
      let headers = new Headers();
      running.on("metadata", (metadata) => {
        headers = headersOf(metadata);
      });
      running.on("data", (event: Buffer) => {
        try {
          arrivals.push(dialect.event(event));
        } catch (error) {
          arrivals.end(error);
        }
      });
      running.on("error", (error: ServiceError) => arrivals.end(wireError(error, dialect.details)));
      running.on("status", ({ code }) => {
        if (code === status.OK) arrivals.end();
      });
      return {
        next: await primed(() => arrivals.next()),
        close: () => running.cancel(),
        get headers() {
          return headers;
        },
      };
    },

    async malformed(kind: Malformed, options) {
      if (kind === "unknown-method") return call("NoSuchMethod", new Uint8Array(), options);
      if (kind === "content-type") throw new Error("a gRPC client cannot choose its media type");
      // Field 1 with a length that runs past the end.
      return call("GetTask", Uint8Array.of(0x0a, 0x7f, 0x01), options);
    },

    sizeOf: (operation, request) => dialect.call(operation, request).body.length,

    checkError(seen, kind, options) {
      const { grpc } = checkErrorInfo(seen, kind, options);
      expect(seen.wire.status, `${kind}: ${seen.message}`).toBe(grpc);
      expect(seen.wire.grpc).toBe(GRPC_CODE[grpc]);
    },

    async close() {
      client.close();
    },
  };
}

const DIALECT: GrpcDialect = {
  service: A2AService.typeName,
  version: "1.0",
  call: (operation, request) => ({ rpc: operation, body: requestBytes(methodOf(operation).input, request) }),
  answer: (operation, body) => answerFromBytes(methodOf(operation).output, body) as Answer<UnaryOperation>,
  event: (body) => answerFromBytes(StreamResponseSchema, body),
  details: detailsFromAny,
};

export const grpcDriver: DriverKind = {
  name: "grpc",
  version: "1.0",
  features: new Set(["empty-id", "list", "1.0-form", "error-data"]),
  connect: (target) => connectGrpc(DIALECT, target),
};
