import { createFileRegistry, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema, file_google_protobuf_struct } from "@bufbuild/protobuf/wkt";

/**
 * The suite's types with every Any declared as a Struct, whose JSON can be that of any Any. A2A has no Any, so Baton
 * prints and reads none; the suite's messages have them, and over JSON nobody sees the difference.
 */
export function anyAsStruct(descriptors: Uint8Array): FileRegistry {
  const set = fromBinary(FileDescriptorSetSchema, descriptors);
  const struct = file_google_protobuf_struct.proto;
  // A file must stand before those that import it.
  set.file = [struct, ...set.file.filter(({ name }) => name !== struct.name)];
  for (const file of set.file) {
    if (file.name.startsWith("google/")) continue;
    if (!file.dependency.includes(struct.name)) file.dependency.push(struct.name);
    const messages = [...file.messageType];
    for (const message of messages) {
      messages.push(...message.nestedType);
      for (const field of message.field) {
        if (field.typeName === ".google.protobuf.Any") field.typeName = ".google.protobuf.Struct";
      }
    }
  }
  return createFileRegistry(set);
}
