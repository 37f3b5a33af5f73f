import { type DescMessage, getExtension, hasExtension, isFieldSet, type Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  EnumOptionsSchema,
  EnumValueOptionsSchema,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FieldOptionsSchema,
  type FileDescriptorProto,
  FileOptionsSchema,
  MessageOptionsSchema,
  type MethodDescriptorProto,
  MethodOptionsSchema,
  type ServiceDescriptorProto,
  ServiceOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import { http } from "../../gen/google/api/annotations_pb.js";
import { method_signature } from "../../gen/google/api/client_pb.js";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.js";
import type { HttpRule } from "../../gen/google/api/http_pb.js";
import { type Fact, type Facts, fact } from "./facts.ts";

/** The facts of one compiled definition file. Whatever it holds becomes a fact, so that no addition goes unseen. */
export function describe(file: FileDescriptorProto): Facts {
  const scope: Scope = { package: file.package };
  return {
    package: file.package,
    facts: [
      fact("syntax", "", file.syntax, {}),
      fact("package", "", file.package, {}),
      ...file.dependency.map((name) => fact("import", "", name, {})),
      ...fileOptions(file),
      ...file.service.flatMap((service) => describeService(scope, service)),
      ...file.messageType.flatMap((message) => describeMessage(scope, file.package, message)),
      ...file.enumType.flatMap((item) => describeEnum(file.package, item)),
      ...file.extension.map((item) =>
        fact("extension", file.package, item.name, { number: `${item.number}` }),
      ),
    ],
  };
}

interface Scope {
  readonly package: string;
}

function fileOptions({ options }: FileDescriptorProto): Fact[] {
  return Object.entries(setOptions(FileOptionsSchema, options)).map(([name, value]) =>
    fact("file_option", "", name, {
      type: value === "true" || value === "false" ? "bool" : "string",
      value,
    }),
  );
}

function describeService(scope: Scope, service: ServiceDescriptorProto): Fact[] {
  const fullName = `${scope.package}.${service.name}`;
  return [
    fact("service", scope.package, service.name, {
      full_name: fullName,
      grpc_path_prefix: `/${fullName}/`,
      ...setOptions(ServiceOptionsSchema, service.options),
    }),
    ...service.method.flatMap((method) => describeMethod(scope, service.name, fullName, method)),
  ];
}

function describeMethod(
  scope: Scope,
  service: string,
  fullName: string,
  method: MethodDescriptorProto,
): Fact[] {
  const [request, response] = [localName(scope, method.inputType), localName(scope, method.outputType)];
  const { options } = method;
  return [
    fact("rpc", service, method.name, {
      type: `${request} -> ${response}`,
      label: streamingKind(method),
      request,
      response,
      grpc_path: `/${fullName}/${method.name}`,
      method_signature: options && getExtension(options, method_signature).join(" | "),
      ...setOptions(MethodOptionsSchema, options, [http.number, method_signature.number]),
    }),
    ...(options && hasExtension(options, http)
      ? describeRule(`${service}.${method.name}`, getExtension(options, http))
      : []),
  ];
}

function streamingKind({ clientStreaming, serverStreaming }: MethodDescriptorProto): string {
  if (clientStreaming) return serverStreaming ? "bidi_stream" : "client_stream";
  return serverStreaming ? "server_stream" : "unary";
}

function describeRule(method: string, rule: HttpRule): Fact[] {
  return [rule, ...rule.additionalBindings].map((binding, index) => {
    const { pattern } = binding;
    const [verb, path] =
      pattern.case === "custom"
        ? [pattern.value.kind, pattern.value.path]
        : [pattern.case?.toUpperCase(), pattern.value];
    return fact("http", method, index === 0 ? "binding" : `additional_binding_${index}`, {
      number: `${index}`,
      type: verb,
      path,
      body: binding.body || "-",
      response_body: binding.responseBody,
      selector: binding.selector,
    });
  });
}

function describeMessage(scope: Scope, parent: string, message: DescriptorProto): Fact[] {
  const mapEntries = new Map(
    message.nestedType.filter((nested) => nested.options?.mapEntry).map((nested) => [nested.name, nested]),
  );
  const path = `${parent}.${message.name}`;
  const reserved = [
    ...message.reservedRange.map(({ start, end }) => `${start}-${end - 1}`),
    ...message.reservedName,
  ];
  return [
    fact("message", parent, message.name, {
      empty: message.field.length === 0 ? "true" : undefined,
      reserved: reserved.join(","),
      ...setOptions(MessageOptionsSchema, message.options),
    }),
    ...message.oneofDecl.flatMap(({ name }, index) =>
      message.field.some((field) => field.proto3Optional && field.oneofIndex === index)
        ? []
        : [fact("oneof", message.name, name, {})],
    ),
    ...message.field.map((field) => describeField(scope, message, mapEntries, field)),
    ...message.nestedType
      .filter((nested) => !mapEntries.has(nested.name))
      .flatMap((nested) => describeMessage(scope, path, nested)),
    ...message.enumType.flatMap((item) => describeEnum(path, item)),
  ];
}

function describeField(
  scope: Scope,
  message: DescriptorProto,
  mapEntries: ReadonlyMap<string, DescriptorProto>,
  field: FieldDescriptorProto,
): Fact {
  const entry =
    field.type === FieldDescriptorProto_Type.MESSAGE
      ? mapEntries.get(field.typeName.slice(field.typeName.lastIndexOf(".") + 1))
      : undefined;
  const [key, value] = entry?.field ?? [];
  const inOneof = !field.proto3Optional && isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex);
  return fact("field", message.name, field.name, {
    number: `${field.number}`,
    type: key && value ? `map<${typeText(scope, key)}, ${typeText(scope, value)}>` : typeText(scope, field),
    label: entry ? "map" : labelText(field),
    // A json_name option that repeats the default leaves no trace in a compiled file.
    json_name: field.jsonName,
    explicit_json_name: field.jsonName === camelCase(field.name) ? undefined : "true",
    oneof: inOneof ? message.oneofDecl[field.oneofIndex]?.name : undefined,
    ...(entry ? {} : typeKind(field)),
    ...behaviours(field),
    ...setOptions(FieldOptionsSchema, field.options, [field_behavior.number]),
  });
}

function behaviours({ options }: FieldDescriptorProto): Record<string, string> {
  if (!options) return {};
  return Object.fromEntries(
    getExtension(options, field_behavior).map((value) => [
      FieldBehavior[value] ?? `behavior ${value}`,
      "true",
    ]),
  );
}

function labelText(field: FieldDescriptorProto): string {
  if (field.label === FieldDescriptorProto_Label.REPEATED) return "repeated";
  return field.proto3Optional ? "optional" : "singular";
}

function typeKind({ type }: FieldDescriptorProto): Record<string, string> {
  if (type === FieldDescriptorProto_Type.MESSAGE) return { type_kind: "message" };
  return type === FieldDescriptorProto_Type.ENUM ? { type_kind: "enum" } : {};
}

function typeText(scope: Scope, field: FieldDescriptorProto): string {
  return field.typeName
    ? localName(scope, field.typeName)
    : (FieldDescriptorProto_Type[field.type]?.toLowerCase() ?? `type ${field.type}`);
}

function describeEnum(parent: string, item: EnumDescriptorProto): Fact[] {
  return [
    fact("enum", parent, item.name, setOptions(EnumOptionsSchema, item.options)),
    ...item.value.map((value) =>
      fact("enum_value", item.name, value.name, {
        number: `${value.number}`,
        ...setOptions(EnumValueOptionsSchema, value.options),
      }),
    ),
  ];
}

/** Type names in the tables are relative to the package, and full where they belong to another one. */
function localName(scope: Scope, typeName: string): string {
  const prefix = `.${scope.package}.`;
  const name = typeName.startsWith(prefix) ? typeName.slice(prefix.length) : undefined;
  return name ?? typeName.slice(1);
}

/** The JSON name that the compiler gives a field without a json_name option. */
function camelCase(name: string): string {
  return name.replace(/_+(.?)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * The options that are set, by name and as text, extensions by number. Extensions in `known` are left out: they have
 * attributes of their own.
 */
function setOptions(
  schema: DescMessage,
  options: Message | undefined,
  known: readonly number[] = [],
): Record<string, string> {
  if (!options) return {};
  const message = reflect(schema, options);
  const own = message.sortedFields
    .filter((field) => message.isSet(field))
    .map((field): [string, string] => [field.name, String(message.get(field))]);
  const extensions = (options.$unknown ?? [])
    .filter(({ no }) => !known.includes(no))
    .map(({ no, data }): [string, string] => [`option ${no}`, Buffer.from(data).toString("hex")]);
  return Object.fromEntries([...own, ...extensions]);
}
