import {
  type DescExtension,
  type DescFile,
  type DescMessage,
  type DescService,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/**
 * Every name that a set of services reaches, with the file that declares it: the files of the services and all that
 * they import. Built once; descriptors do not change.
 */
export class DescriptorIndex {
  readonly #files = new Map<string, DescFile>();
  readonly #symbols = new Map<string, DescFile>();
  readonly #messages = new Set<string>();
  readonly #extensions = new Map<string, Map<number, DescFile>>();
  readonly #bytes = new WeakMap<DescFile, Uint8Array>();

  constructor(services: Iterable<DescService>, extraFiles: Iterable<DescFile> = []) {
    for (const service of services) this.#addFile(service.file);
    for (const file of extraFiles) this.#addFile(file);
  }

  /** By import path, such as `google/protobuf/empty.proto`. */
  fileByName(name: string): DescFile | undefined {
    return this.#files.get(name);
  }

  /** By fully qualified name of a service, method, message, field, oneof, enum, enum value or extension. */
  fileBySymbol(name: string): DescFile | undefined {
    return this.#symbols.get(name);
  }

  fileByExtension(extendee: string, number: number): DescFile | undefined {
    return this.#extensions.get(extendee)?.get(number);
  }

  /** Numbers of the known extensions of a message; undefined for a message that is not known. */
  extensionNumbers(extendee: string): number[] | undefined {
    if (!this.#messages.has(extendee)) return undefined;
    return [...(this.#extensions.get(extendee)?.keys() ?? [])].sort((a, b) => a - b);
  }

  /** The file and everything it imports, dependencies first, the file itself last. */
  withDependencies(file: DescFile): DescFile[] {
    const found = new Set<DescFile>();
    const visit = (next: DescFile): void => {
      if (found.has(next)) return;
      for (const dependency of next.dependencies) visit(dependency);
      found.add(next);
    };
    visit(file);
    return [...found];
  }

  /** The serialized FileDescriptorProto. */
  bytesOf(file: DescFile): Uint8Array {
    const known = this.#bytes.get(file);
    if (known !== undefined) return known;
    const bytes = toBinary(FileDescriptorProtoSchema, file.proto);
    this.#bytes.set(file, bytes);
    return bytes;
  }

  #addFile(file: DescFile): void {
    if (this.#files.has(file.proto.name)) return;
    this.#files.set(file.proto.name, file);
    for (const dependency of file.dependencies) this.#addFile(dependency);
    for (const service of file.services) {
      this.#symbols.set(service.typeName, file);
      for (const method of service.methods) this.#symbols.set(`${service.typeName}.${method.name}`, file);
    }
    for (const message of file.messages) this.#addMessage(message, file);
    for (const desc of file.enums) this.#addEnum(desc.typeName, desc.values, file);
    for (const extension of file.extensions) this.#addExtension(extension, file);
  }

  #addMessage(message: DescMessage, file: DescFile): void {
    this.#symbols.set(message.typeName, file);
    this.#messages.add(message.typeName);
    for (const field of message.fields) this.#symbols.set(`${message.typeName}.${field.name}`, file);
    for (const oneof of message.oneofs) this.#symbols.set(`${message.typeName}.${oneof.name}`, file);
    for (const nested of message.nestedMessages) this.#addMessage(nested, file);
    for (const nested of message.nestedEnums) this.#addEnum(nested.typeName, nested.values, file);
    for (const extension of message.nestedExtensions) this.#addExtension(extension, file);
  }

  /** The values of an enum live in the scope that surrounds it. */
  #addEnum(typeName: string, values: readonly { readonly name: string }[], file: DescFile): void {
    this.#symbols.set(typeName, file);
    const scope = typeName.slice(0, typeName.lastIndexOf(".") + 1);
    for (const value of values) this.#symbols.set(`${scope}${value.name}`, file);
  }

  #addExtension(extension: DescExtension, file: DescFile): void {
    this.#symbols.set(extension.typeName, file);
    const extendee = extension.extendee.typeName;
    const known = this.#extensions.get(extendee) ?? new Map<number, DescFile>();
    this.#extensions.set(extendee, known);
    known.set(extension.number, file);
  }
}
