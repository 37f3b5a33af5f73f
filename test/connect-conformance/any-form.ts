import {
  type DescMessage,
  type FileRegistry,
  fromJson,
  type JsonObject,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { type Any, AnySchema, anyPack } from "@bufbuild/protobuf/wkt";

/** How the messages of a call hold what the suite declares as Any. */
export interface AnyForm {
  pack(desc: DescMessage, message: Message): unknown;
  toAny(held: unknown): Any;
}

export const AS_ANY: AnyForm = {
  pack: anyPack,
  toAny: (held) => held as Any,
};

/** `original`: the suite's types as they are. */
export function asStruct(original: FileRegistry): AnyForm {
  return {
    pack: (desc, message) => ({
      "@type": `type.googleapis.com/${desc.typeName}`,
      ...(toJson(desc, message) as JsonObject),
    }),
    toAny: (held) => fromJson(AnySchema, held as JsonObject, { registry: original }),
  };
}
