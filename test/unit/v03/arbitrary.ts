import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  getOption,
  type JsonValue,
  type Message,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { TimestampSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.js";

/** Fields whose values are words of the protocol and not free text, by full name. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  "lf.a2a.v1.AgentInterface.protocol_version": ["1.0", "0.3"],
  "lf.a2a.v1.AgentInterface.protocol_binding": ["JSONRPC", "GRPC", "HTTP+JSON"],
};

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }).filter((value) => value.isWellFormed()),
  fc.constantFrom("", "a", "ü€", "x/y:z", "__proto__", "\u0000", "null"),
);
/** The flag of wrapped data is the one reserved word of metadata. */
const key = text.filter((value) => value !== "data_part_compat");
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.oneof(
      text,
      number.map((value) => (Object.is(value, -0) ? 0 : value)),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(key, tie("json"), { maxKeys: 3 }),
  ),
}));
const object = fc.dictionary(key, json, { maxKeys: 3, noNullPrototype: true });

/**
 * Valid messages of a type: required fields are set and oneofs chosen, all else is there or not. Every field of the
 * descriptor takes part, so a new one is generated without an edit here.
 */
export function arbitraryMessage<D extends DescMessage>(desc: D): fc.Arbitrary<MessageShape<D>> {
  return of(desc) as fc.Arbitrary<MessageShape<D>>;
}

const known = new Map<DescMessage, fc.Arbitrary<Message>>();

function of(desc: DescMessage): fc.Arbitrary<Message> {
  const cached = known.get(desc);
  if (cached !== undefined) return cached;
  const made = build(desc);
  known.set(desc, made);
  return made;
}

function build(desc: DescMessage): fc.Arbitrary<Message> {
  if (desc.typeName === "google.protobuf.Value") return json.map((value) => fromJson(ValueSchema, value));
  if (desc.typeName === "google.protobuf.Timestamp") {
    const seconds = fc.integer({ min: 0, max: 4_102_444_800 }).map(BigInt);
    const nanos = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 999_999_999 }));
    return fc.record({ seconds, nanos }).map((init) => create(TimestampSchema, init));
  }
  const plain = desc.fields.filter(({ oneof }) => oneof === undefined);
  const fields = plain.map((field) =>
    member(field).map((value): [string, unknown] => [field.localName, value]),
  );
  const oneofs = desc.oneofs.map((oneof) =>
    fc
      .oneof(
        ...oneof.fields.map((field) =>
          value(field).map((chosen) => ({ case: field.localName, value: chosen })),
        ),
      )
      .map((chosen): [string, unknown] => [oneof.localName, chosen]),
  );
  return fc.tuple(...fields, ...oneofs).map((entries) => {
    const set = entries.filter(([, each]) => each !== undefined);
    // Built from the descriptor, so it is an init of this type.
    return create(desc, Object.fromEntries(set) as never);
  });
}

function member(field: DescField): fc.Arbitrary<unknown> {
  const required = getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
  if (field.fieldKind === "list") {
    return fc.array(item(field), { minLength: required ? 1 : 0, maxLength: 2 });
  }
  if (field.fieldKind === "map")
    return fc.dictionary(text, item(field), { maxKeys: 2, noNullPrototype: true });
  return required ? value(field) : fc.option(value(field), { nil: undefined });
}

function item(field: DescField & { fieldKind: "list" | "map" }): fc.Arbitrary<unknown> {
  return field.message !== undefined ? of(field.message) : text;
}

function value(field: DescField): fc.Arbitrary<unknown> {
  const words = WORDS[`${field.parent.typeName}.${field.name}`];
  if (words !== undefined) return fc.constantFrom(...words);
  if (field.message?.typeName === "google.protobuf.Struct") return object;
  if (field.message !== undefined) return of(field.message);
  if (field.enum !== undefined) {
    return fc.constantFrom(...field.enum.values.map((each) => each.number).filter((each) => each !== 0));
  }
  switch (field.scalar) {
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 8 });
    case ScalarType.INT32:
      return fc.integer({ min: 0, max: 1000 });
    default:
      return text;
  }
}
