import type { HttpHandler } from "../transports/http-handler.ts";

/**
 * `/livez` (the process answers) and `/readyz` (it can serve, or says why not), for the admin port. `readiness`: why the
 * gateway should get no traffic; empty when it should.
 */
export function createProbeHandler(readiness: () => Promise<readonly string[]>): HttpHandler {
  return async (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0];
    if (path !== "/livez" && path !== "/readyz") return false;
    const reasons = path === "/readyz" ? await readiness() : [];
    const body = JSON.stringify(reasons.length === 0 ? { status: "ok" } : { status: "unavailable", reasons });
    response.statusCode = reasons.length === 0 ? 200 : 503;
    response.setHeader("content-type", "application/json");
    response.setHeader("content-length", String(Buffer.byteLength(body)));
    if (request.method === "HEAD") response.end();
    else response.end(body);
    return true;
  };
}
