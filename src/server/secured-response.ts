import { ServerResponse } from "node:http";
import { securityFields, setSecurityHeaders } from "./security-headers.ts";

/** `writeHead` with whatever may follow the status. */
type WriteHead = (this: ServerResponse, status: number, ...rest: unknown[]) => ServerResponse;

// Its overloads say what `rest` may be; here it is passed on as it came.
const writeHead = ServerResponse.prototype.writeHead as WriteHead;

/**
 * An HTTP/1.1 response that has the security headers, whoever writes it. They are added when the head is written, and
 * not before: setting them one by one, as anything else that is set before, costs more than the rest of the head.
 */
export class SecuredResponse extends ServerResponse {
  /** Node calls this too, for a response whose head nobody wrote. */
  override writeHead(status: number, ...rest: unknown[]): this {
    const [headers] = rest;
    if (Array.isArray(headers) && this.getHeaderNames().length === 0) {
      writeHead.call(this, status, [...securityFields(headers), ...headers]);
      return this;
    }
    setSecurityHeaders(this);
    writeHead.call(this, status, ...rest);
    return this;
  }
}
