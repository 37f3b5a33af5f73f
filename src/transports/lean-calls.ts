import type { LeanRequest, UnaryAwareHandler } from "./http-handler.ts";
import { parseTarget } from "./target.ts";

export interface LeanCallsOptions {
  readonly rest: UnaryAwareHandler;
  readonly jsonrpc: UnaryAwareHandler;
  /** First path segments that are of these two and of no handler that is asked before them. */
  readonly firstSegments: ReadonlySet<string>;
}

/** Of these types no RPC protocol is; the others may be of one. */
const JSON_BODY = /^application\/(?:a2a\+)?json\b/i;

/**
 * Tells the unary JSON-RPC and HTTP+JSON calls among all requests of the port: those that would get to one of the two if
 * every handler were asked in turn. False where that is not plain to see.
 */
export function leanCallsOf({ rest, jsonrpc, firstSegments }: LeanCallsOptions) {
  return (request: LeanRequest): boolean => {
    const { headers, url } = request;
    const type = headers["content-type"];
    if (type !== undefined && !JSON_BODY.test(type)) return false;
    if (headers["connect-protocol-version"] !== undefined) return false;
    const [first] = parseTarget(url).segments;
    if (first !== undefined && !firstSegments.has(first)) return false;
    return rest.isUnary(request) ?? jsonrpc.isUnary(request) ?? false;
  };
}
