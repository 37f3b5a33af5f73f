import { create, type DescFile, type DescService, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import {
  ErrorResponseSchema,
  ExtensionNumberResponseSchema,
  FileDescriptorResponseSchema,
  ListServiceResponseSchema,
  ServerReflection as ReflectionV1,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import {
  ServerReflectionRequestSchema as AlphaRequestSchema,
  ServerReflectionResponseSchema as AlphaResponseSchema,
  ServerReflection as ReflectionV1Alpha,
} from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { DescriptorIndex } from "./descriptor-index.ts";

/** google.rpc.Code, as `error_code` of a response carries it. */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;

type Answer = ServerReflectionResponse["messageResponse"];

export interface ReflectionOptions {
  /** What the server serves; the reflection services themselves are added. */
  readonly services: Iterable<DescService>;
  /** Files that no service reaches but that hold extensions worth finding. */
  readonly extraFiles?: Iterable<DescFile>;
}

/**
 * gRPC server reflection, `v1` and `v1alpha`, as routes of a Connect router. It is bidirectional, so clients need
 * HTTP/2. It tells the schema to whoever asks: leave it out where the schema is no one's business.
 */
export function createReflection(options: ReflectionOptions): (router: ConnectRouter) => void {
  const services = [...new Set([...options.services, ReflectionV1, ReflectionV1Alpha])];
  const index = new DescriptorIndex(services, options.extraFiles);
  const names = services.map((service) => service.typeName).sort();
  return (router) => {
    router.service(ReflectionV1, {
      async *serverReflectionInfo(requests, { signal }) {
        const session = new Session(index, names);
        for await (const request of untilAborted(requests, signal)) yield session.answer(request);
      },
    });
    // The two packages declare the same messages, so that the bytes of one are those of the other.
    router.service(ReflectionV1Alpha, {
      async *serverReflectionInfo(requests, { signal }) {
        const session = new Session(index, names);
        for await (const request of untilAborted(requests, signal)) {
          const same = fromBinary(ServerReflectionRequestSchema, toBinary(AlphaRequestSchema, request));
          const response = toBinary(ServerReflectionResponseSchema, session.answer(same));
          yield fromBinary(AlphaResponseSchema, response);
        }
      },
    });
  };
}

/**
 * The requests of a stream, until the server ends it: a client that keeps its stream open and asks nothing would hold
 * up a shutdown.
 */
async function* untilAborted<T>(requests: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = requests[Symbol.asyncIterator]();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(new ConnectError("the stream was ended", Code.Unavailable));
  // The race below may be over when the signal fires.
  aborted.promise.catch(() => {});
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted.promise]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** One stream: remembers which files its client has. */
class Session {
  readonly #index: DescriptorIndex;
  readonly #services: readonly string[];
  readonly #sent = new Set<DescFile>();

  constructor(index: DescriptorIndex, services: readonly string[]) {
    this.#index = index;
    this.#services = services;
  }

  answer(request: ServerReflectionRequest): ServerReflectionResponse {
    return create(ServerReflectionResponseSchema, {
      validHost: request.host,
      originalRequest: request,
      messageResponse: this.#answerTo(request.messageRequest),
    });
  }

  #answerTo(question: ServerReflectionRequest["messageRequest"]): Answer {
    switch (question.case) {
      case "fileByFilename":
        return this.#file(this.#index.fileByName(question.value), "file", question.value);
      case "fileContainingSymbol":
        return this.#file(this.#index.fileBySymbol(question.value), "symbol", question.value);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = question.value;
        const file = this.#index.fileByExtension(containingType, extensionNumber);
        return this.#file(file, "extension", `${containingType}[${extensionNumber}]`);
      }
      case "allExtensionNumbersOfType": {
        const numbers = this.#index.extensionNumbers(question.value);
        if (numbers === undefined) return failure(NOT_FOUND, `unknown message: ${question.value}`);
        const value = { baseTypeName: question.value, extensionNumber: numbers };
        return { case: "allExtensionNumbersResponse", value: create(ExtensionNumberResponseSchema, value) };
      }
      case "listServices": {
        const service = this.#services.map((name) => ({ name }));
        return { case: "listServicesResponse", value: create(ListServiceResponseSchema, { service }) };
      }
      default:
        return failure(INVALID_ARGUMENT, "the request asks nothing that is known here");
    }
  }

  /** The file asked for first, as clients expect that it is there; then what it imports and the client lacks. */
  #file(file: DescFile | undefined, kind: string, name: string): Answer {
    if (file === undefined) return failure(NOT_FOUND, `unknown ${kind}: ${name}`);
    const needed = this.#index.withDependencies(file).reverse();
    const send = needed.filter((next) => next === file || !this.#sent.has(next));
    for (const next of send) this.#sent.add(next);
    const fileDescriptorProto = send.map((next) => this.#index.bytesOf(next));
    return {
      case: "fileDescriptorResponse",
      value: create(FileDescriptorResponseSchema, { fileDescriptorProto }),
    };
  }
}

function failure(errorCode: number, errorMessage: string): Answer {
  return { case: "errorResponse", value: create(ErrorResponseSchema, { errorCode, errorMessage }) };
}
