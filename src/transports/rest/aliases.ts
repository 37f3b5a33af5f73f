import type { DescMethod } from "@bufbuild/protobuf";

/** Query names that clients in the field send and the proto does not have, by full method name. */
const ALIASES: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  // The Go client up to 2.3.1 (A2A-124).
  ["lf.a2a.v1.A2AService.ListTasks", new Map([["lastUpdatedAfter", "status_timestamp_after"]])],
]);

const NONE: ReadonlyMap<string, string> = new Map();

/** Alias to field name. */
export function aliasesOf(method: DescMethod): ReadonlyMap<string, string> {
  return ALIASES.get(`${method.parent.typeName}.${method.name}`) ?? NONE;
}
