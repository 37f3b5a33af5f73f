import type { JsonValue } from "@bufbuild/protobuf";

/** Writes the answer around a result. Both are JSON text, the id as the request wrote it. */
export function resultEnvelope(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** Writes the answer around an error. */
export function errorEnvelope(id: string, error: JsonValue): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`;
}
