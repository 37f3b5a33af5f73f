import { createFileRegistry, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { type ClientDuplexStream, credentials, makeGenericClientConstructor, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { A2AService, file_lf_a2a_v1_a2a } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { createReflection } from "../../src/transports/grpc-reflection/reflection.ts";
import { closeGrpcServers, startGrpcServer } from "./grpc-server.ts";

interface Response {
  readonly original_request: Record<string, unknown>;
  readonly valid_host: string;
  readonly message_response: string;
  readonly file_descriptor_response?: { readonly file_descriptor_proto: Buffer[] };
  readonly all_extension_numbers_response?: { base_type_name: string; extension_number: number[] };
  readonly list_services_response?: { readonly service: { readonly name: string }[] };
  readonly error_response?: { readonly error_code: number; readonly error_message: string };
}

describe.each(["v1", "v1alpha"])("gRPC reflection %s, with the client of grpc-js", (version) => {
  const definition = loadSync(`proto/grpc/reflection/${version}/reflection.proto`, {
    oneofs: true,
    arrays: true,
    keepCase: true,
  });
  const Client = makeGenericClientConstructor(
    definition[`grpc.reflection.${version}.ServerReflection`] as never,
    "ServerReflection",
  );
  let client: { ServerReflectionInfo(): ClientDuplexStream<object, Response>; close(): void };
  let shutdown: AbortController;

  beforeEach(async () => {
    shutdown = new AbortController();
    const reflection = createReflection({ services: [A2AService] });
    const { listener } = await startGrpcServer({ plainServices: [reflection], shutdown: shutdown.signal });
    client = new Client(
      `127.0.0.1:${listener.port}`,
      credentials.createInsecure(),
    ) as unknown as typeof client;
  });

  afterEach(async () => {
    client.close();
    await closeGrpcServers();
  });

  /** Asks on one stream, one question after the other. */
  async function ask(...questions: object[]): Promise<Response[]> {
    const stream = client.ServerReflectionInfo();
    const answers: Response[] = [];
    const done = new Promise<void>((resolve, reject) => {
      stream.on("error", reject);
      stream.on("end", resolve);
      stream.on("data", (answer: Response) => {
        answers.push(answer);
        const next = questions[answers.length];
        if (next === undefined) stream.end();
        else stream.write(next);
      });
    });
    stream.write(questions[0] as object);
    await done;
    return answers;
  }

  function filesOf(answer: Response | undefined): FileDescriptorProto[] {
    return (answer?.file_descriptor_response?.file_descriptor_proto ?? []).map((bytes) =>
      fromBinary(FileDescriptorProtoSchema, bytes),
    );
  }

  it("lists the services, its own included", async () => {
    const [answer] = await ask({ list_services: "*", host: "h" });
    expect(answer?.list_services_response?.service.map(({ name }) => name)).toEqual([
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      "lf.a2a.v1.A2AService",
    ]);
    expect(answer).toMatchObject({ valid_host: "h", original_request: { host: "h", list_services: "*" } });
  });

  it("gives the whole A2A schema over the wire, equal to ours and complete", async () => {
    const [first] = await ask({ file_containing_symbol: "lf.a2a.v1.A2AService" });
    const files = new Map(filesOf(first).map((file) => [file.name, file]));
    expect(filesOf(first)[0]?.name).toBe("lf/a2a/v1/a2a.proto");
    const a2a = files.get("lf/a2a/v1/a2a.proto");
    expect(a2a && toBinary(FileDescriptorProtoSchema, a2a)).toEqual(
      toBinary(FileDescriptorProtoSchema, file_lf_a2a_v1_a2a.proto),
    );
    // Resolving the set fails when a dependency is missing.
    const set = {
      $typeName: "google.protobuf.FileDescriptorSet",
      file: [...files.values()].reverse(),
    } as const;
    const registry = createFileRegistry(
      fromBinary(FileDescriptorSetSchema, toBinary(FileDescriptorSetSchema, set)),
    );
    const service = registry.getService("lf.a2a.v1.A2AService");
    expect(service?.methods.map(({ name }) => name)).toEqual(A2AService.methods.map(({ name }) => name));
    const shape = (desc: DescMessage | undefined) =>
      desc?.fields.map((field) => [
        field.name,
        field.number,
        field.jsonName,
        field.fieldKind,
        field.message?.typeName,
      ]);
    for (const message of file_lf_a2a_v1_a2a.messages) {
      expect(shape(registry.getMessage(message.typeName)), message.typeName).toEqual(shape(message));
    }
  });

  it.each([
    "lf.a2a.v1.A2AService.SendMessage",
    "lf.a2a.v1.Task",
    "lf.a2a.v1.Task.id",
    "lf.a2a.v1.Part.content",
    "lf.a2a.v1.TaskState",
    "lf.a2a.v1.TASK_STATE_WORKING",
  ])("finds the file of %s", async (symbol) => {
    const [answer] = await ask({ file_containing_symbol: symbol });
    expect(filesOf(answer)[0]?.name).toBe("lf/a2a/v1/a2a.proto");
  });

  it("finds files by name, and does not send a dependency twice on one stream", async () => {
    const [http, again, a2a] = await ask(
      { file_by_filename: "google/api/http.proto" },
      { file_by_filename: "google/api/http.proto" },
      { file_by_filename: "lf/a2a/v1/a2a.proto" },
    );
    expect(filesOf(http).map(({ name }) => name)).toEqual(["google/api/http.proto"]);
    expect(filesOf(again).map(({ name }) => name)).toEqual(["google/api/http.proto"]);
    const names = filesOf(a2a).map(({ name }) => name);
    expect(names[0]).toBe("lf/a2a/v1/a2a.proto");
    expect(names).toContain("google/api/annotations.proto");
    expect(names).not.toContain("google/api/http.proto");
  });

  it("answers extension queries", async () => {
    const [numbers, file, none, missing, unknown] = await ask(
      { all_extension_numbers_of_type: "google.protobuf.MethodOptions" },
      {
        file_containing_extension: {
          containing_type: "google.protobuf.MethodOptions",
          extension_number: 72295728,
        },
      },
      { all_extension_numbers_of_type: "lf.a2a.v1.Task" },
      {
        file_containing_extension: { containing_type: "google.protobuf.MethodOptions", extension_number: 5 },
      },
      { all_extension_numbers_of_type: "no.Such" },
    );
    expect(numbers?.all_extension_numbers_response?.base_type_name).toBe("google.protobuf.MethodOptions");
    expect(numbers?.all_extension_numbers_response?.extension_number).toContain(72295728);
    expect(filesOf(file)[0]?.name).toBe("google/api/annotations.proto");
    expect(none?.all_extension_numbers_response?.extension_number).toEqual([]);
    expect(missing?.error_response?.error_code).toBe(status.NOT_FOUND);
    expect(unknown?.error_response?.error_code).toBe(status.NOT_FOUND);
  });

  it("answers what it does not know on the stream, which goes on", async () => {
    const [symbol, name, empty, list] = await ask(
      { file_containing_symbol: "no.Such" },
      { file_by_filename: "no/such.proto" },
      {},
      { list_services: "" },
    );
    expect(symbol?.error_response?.error_code).toBe(status.NOT_FOUND);
    expect(name?.error_response?.error_code).toBe(status.NOT_FOUND);
    expect(empty?.error_response?.error_code).toBe(status.INVALID_ARGUMENT);
    expect(list?.list_services_response?.service).toHaveLength(3);
  });

  it("G13 ends an idle stream at shutdown", async () => {
    const stream = client.ServerReflectionInfo();
    let code: number | undefined;
    stream.on("error", () => {});
    stream.on("status", (ended: { code: number }) => {
      code = ended.code;
    });
    const answered = new Promise((resolve) => stream.once("data", resolve));
    stream.write({ list_services: "" });
    await answered;
    shutdown.abort();
    await expect.poll(() => code).toBe(status.UNAVAILABLE);
  });
});
