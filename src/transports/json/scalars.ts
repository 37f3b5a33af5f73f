import { type DescEnum, type JsonValue, ScalarType } from "@bufbuild/protobuf";

/** What a JSON value must be to be read as a scalar; undefined: it is fine. */
export type LeafCheck = (value: JsonValue) => string | undefined;

interface IntegerRange {
  readonly min: bigint;
  readonly max: bigint;
}

const INT32: IntegerRange = { min: -(2n ** 31n), max: 2n ** 31n - 1n };
const UINT32: IntegerRange = { min: 0n, max: 2n ** 32n - 1n };
const INT64: IntegerRange = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const UINT64: IntegerRange = { min: 0n, max: 2n ** 64n - 1n };

const RANGES: Partial<Record<ScalarType, IntegerRange>> = {
  [ScalarType.INT32]: INT32,
  [ScalarType.SINT32]: INT32,
  [ScalarType.SFIXED32]: INT32,
  [ScalarType.UINT32]: UINT32,
  [ScalarType.FIXED32]: UINT32,
  [ScalarType.INT64]: INT64,
  [ScalarType.SINT64]: INT64,
  [ScalarType.SFIXED64]: INT64,
  [ScalarType.UINT64]: UINT64,
  [ScalarType.FIXED64]: UINT64,
};

/** The check of one scalar type of ProtoJSON. */
export function scalarCheck(type: ScalarType): LeafCheck {
  switch (type) {
    case ScalarType.STRING:
      return stringFault;
    case ScalarType.BOOL:
      return (value) => (typeof value === "boolean" ? undefined : "must be true or false");
    case ScalarType.BYTES:
      return bytesFault;
    case ScalarType.DOUBLE:
      return (value) => floatFault(value, Number.MAX_VALUE);
    case ScalarType.FLOAT:
      return (value) => floatFault(value, 3.4028234663852886e38);
    default: {
      const range = RANGES[type] ?? INT32;
      return (value) => integerFault(value, range);
    }
  }
}

/** Names and integers; text that names no value is refused, however lenient the parser is about unknown fields. */
export function enumCheck(desc: DescEnum): LeafCheck {
  const names = new Set(desc.values.flatMap((value) => [value.name, value.jsonName]));
  return (value) => {
    if (typeof value === "string") return names.has(value) ? undefined : "is not one of the defined values";
    return integerFault(value, INT32) === undefined ? undefined : "must be the name of a defined value";
  };
}

export function stringFault(value: JsonValue): string | undefined {
  if (typeof value !== "string") return "must be a string";
  return value.isWellFormed() ? undefined : "holds half of a surrogate pair";
}

function bytesFault(value: JsonValue): string | undefined {
  if (typeof value !== "string") return "must be base64 text";
  const unpadded = value.replace(/={0,2}$/, "");
  const fits = unpadded.length % 4 !== 1 && /^[A-Za-z0-9+/_-]*$/.test(unpadded);
  return fits ? undefined : "must be base64 text";
}

function floatFault(value: JsonValue, max: number): string | undefined {
  if (value === "NaN" || value === "Infinity" || value === "-Infinity") return undefined;
  const written = typeof value === "string" && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value);
  const number = written ? Number(value) : value;
  if (typeof number !== "number") return "must be a number";
  return Math.abs(number) <= max ? undefined : "is out of range";
}

/** Integers may be numbers or decimal text, and may end in `.0`, as ProtoJSON allows. */
function integerFault(value: JsonValue, range: IntegerRange): string | undefined {
  let integer: bigint;
  if (typeof value === "number" && Number.isInteger(value)) integer = BigInt(value);
  else if (typeof value === "string" && /^-?\d{1,20}(\.0+)?$/.test(value)) {
    integer = BigInt(value.replace(/\.0+$/, ""));
  } else
    return typeof value === "number" && !Number.isFinite(value) ? "is out of range" : "must be an integer";
  return integer >= range.min && integer <= range.max ? undefined : "is out of range";
}
