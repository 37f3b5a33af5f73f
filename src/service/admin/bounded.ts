import { invalidParams } from "../../domain/errors.ts";

/** A number of things that a request asks for; `fallback` for 0. Throws InvalidParams outside of 1 to `max`. */
export function bounded(field: string, asked: number, limit: { fallback: number; max: number }): number {
  if (asked < 0 || asked > limit.max) {
    throw invalidParams({ field, description: `must be 1 to ${limit.max}` });
  }
  return asked || limit.fallback;
}
