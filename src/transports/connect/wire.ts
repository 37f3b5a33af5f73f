/** How one request is framed: which RPC protocol, and inside it which encoding. */
export interface Wire {
  readonly protocol: "grpc" | "grpc-web" | "connect";
  /** ProtoJSON instead of protobuf. */
  readonly json: boolean;
  /** Messages are length-prefixed. False only for Connect's unary form, whose body is the bare message. */
  readonly enveloped: boolean;
}

const FORMS: readonly (readonly [RegExp, Wire["protocol"], boolean])[] = [
  [/^application\/grpc(?:\+(proto|json))?$/, "grpc", true],
  [/^application\/grpc-web(?:\+(proto|json))?$/, "grpc-web", true],
  [/^application\/connect\+(proto|json)$/, "connect", true],
  [/^application\/(proto|json)$/, "connect", false],
];

/** Reads a Content-Type; undefined for one that no RPC protocol uses. Parameters such as charset do not matter. */
export function wireOf(contentType: string | undefined): Wire | undefined {
  if (contentType === undefined) return undefined;
  // What nearly every JSON client sends, spelt out: this is asked of each request of every transport.
  return contentType === "application/json" ? CONNECT_JSON : readWire(contentType);
}

const CONNECT_JSON: Wire = { protocol: "connect", enveloped: false, json: true };

function readWire(contentType: string): Wire | undefined {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  for (const [pattern, protocol, enveloped] of FORMS) {
    const match = pattern.exec(type);
    if (match !== null) return { protocol, enveloped, json: match[1] === "json" };
  }
  return undefined;
}

/** Whether the header says that the sender speaks RPC and nothing else: such a request has no other transport. */
export function onlyRpc(wire: Wire | undefined, connectVersion: string | undefined): boolean {
  if (wire === undefined) return false;
  return wire.enveloped || !wire.json || connectVersion !== undefined;
}
