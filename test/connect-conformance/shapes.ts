/**
 * The messages of `connectrpc.conformance.v1` as far as the server under test reads them. Their descriptors come with the
 * suite, so there is no generated code of them here.
 */
import type { DescMessage, DescService, FileRegistry, Message } from "@bufbuild/protobuf";

const PACKAGE = "connectrpc.conformance.v1";

export interface Header {
  readonly name: string;
  readonly value: readonly string[];
}

export interface AskedError {
  readonly code: number;
  readonly message?: string;
  /** Any, or what stands for it (any-form.ts). */
  readonly details: readonly unknown[];
}

export interface UnaryDefinition {
  readonly responseHeaders: readonly Header[];
  readonly response:
    | { readonly case: "responseData"; readonly value: Uint8Array }
    | { readonly case: "error"; readonly value: AskedError }
    | { readonly case: undefined };
  readonly responseTrailers: readonly Header[];
  readonly responseDelayMs: number;
}

export interface StreamDefinition {
  readonly responseHeaders: readonly Header[];
  readonly responseData: readonly Uint8Array[];
  readonly responseDelayMs: number;
  readonly error?: AskedError;
  readonly responseTrailers: readonly Header[];
}

/** A request of a unary or a server-streaming method. */
export type Asking<Definition> = Message & { readonly responseDefinition?: Definition };

export interface Start {
  readonly useTls: boolean;
  /** Bytes; 0 for none. */
  readonly messageReceiveLimit: number;
  readonly serverCreds: { readonly cert: Buffer; readonly key: Buffer };
}

export function messageOf(registry: FileRegistry, name: string): DescMessage {
  const found = registry.getMessage(`${PACKAGE}.${name}`);
  if (found === undefined) throw new Error(`the suite has no message ${name}`);
  return found;
}

export function suiteService(registry: FileRegistry): DescService {
  const found = registry.getService(`${PACKAGE}.ConformanceService`);
  if (found === undefined) throw new Error("the suite has no ConformanceService");
  return found;
}
