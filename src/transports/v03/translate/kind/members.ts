/** Members of a JSON object of the 0.3 dialect, read one by one; each fault is kept with its path (A2A-176). */
import { type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { type FieldViolation, invalidParams } from "../../../../domain/errors.ts";
import { scalarCheck } from "../../../json/scalars.ts";
import { isJsonObject } from "../data-compat.ts";

const CHECKS = {
  string: scalarCheck(ScalarType.STRING),
  boolean: scalarCheck(ScalarType.BOOL),
  base64: scalarCheck(ScalarType.BYTES),
} as const;

/** Enough to correct a request by. */
const MAX_VIOLATIONS = 16;

/** What was wrong with a document so far. */
export class Faults {
  readonly #found: FieldViolation[] = [];

  add(field: string, description: string): void {
    if (this.#found.length < MAX_VIOLATIONS) this.#found.push({ field, description });
  }

  /** Throws InvalidParams if anything was wrong. */
  raise(): void {
    if (this.#found.length > 0) throw invalidParams(...this.#found);
  }
}

/** One object. Absent and null members are the same: 0.3 peers write either. */
export class Members {
  readonly #json: JsonObject;
  readonly path: string;
  readonly faults: Faults;

  private constructor(json: JsonObject, path: string, faults: Faults) {
    this.#json = json;
    this.path = path;
    this.faults = faults;
  }

  /** What is no object is a fault and reads as an empty one. */
  static of(json: JsonValue | undefined, path: string, faults: Faults): Members {
    if (isJsonObject(json)) return new Members(json, path, faults);
    faults.add(path, "must be an object");
    return new Members({}, path, faults);
  }

  at(key: string): string {
    return this.path === "" ? key : `${this.path}.${key}`;
  }

  get(key: string): JsonValue | undefined {
    const value = Object.hasOwn(this.#json, key) ? this.#json[key] : undefined;
    return value ?? undefined;
  }

  fault(key: string, description: string): void {
    this.faults.add(this.at(key), description);
  }

  /** A scalar of that type, or undefined where it is absent or wrong. */
  scalar<T extends keyof typeof CHECKS>(
    key: string,
    type: T,
  ): (T extends "boolean" ? boolean : string) | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    const fault = CHECKS[type](value);
    if (fault !== undefined) {
      this.fault(key, fault);
      return undefined;
    }
    // The check has made sure of the type.
    return value as T extends "boolean" ? boolean : string;
  }

  object(key: string): Members | undefined {
    const value = this.get(key);
    return value === undefined ? undefined : Members.of(value, this.at(key), this.faults);
  }

  /** Translates each element; undefined where the list is absent. */
  list<T extends JsonValue>(key: string, read: (element: Members) => T): T[] | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) {
      this.fault(key, "must be an array");
      return undefined;
    }
    return value.map((element, index) => read(Members.of(element, `${this.at(key)}[${index}]`, this.faults)));
  }

  /** Members whose name and JSON are those of 1.0; they are judged where the 1.0 message is read. */
  copy(...keys: readonly string[]): JsonObject {
    const copied: JsonObject = {};
    for (const key of keys) {
      const value = this.get(key);
      if (value !== undefined) copied[key] = value;
    }
    return copied;
  }

  /** `kind` may be missing where the place says what the object is, but must not say otherwise (A2A-161). */
  expectKind(kind: string): void {
    const value = this.get("kind");
    if (value !== undefined && value !== kind) this.fault("kind", `must be ${kind}`);
  }
}
