import { z } from "zod";
import { BatonError } from "../domain/errors.ts";
import { bearerToken } from "../identity/authenticate.ts";
import { FriendRequestRefused, type FriendRequests, REFUSALS } from "../service/friend-requests.ts";
import { readBody } from "./body.ts";
import { clientAddress } from "./forwarded.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "./http-handler.ts";
import { respond } from "./respond.ts";

export interface FriendRequestHandlerOptions {
  readonly requests: FriendRequests;
  /** Takes a token of the address's bucket; answers 0, or how many milliseconds to wait. */
  admit(address: string): Promise<number>;
  /** Told of refusals and faults, whose reasons are not sent. */
  onError(error: FriendRequestRefused): void;
}

const PATH = /^\/a2a\/friend-requests(?:\/([A-Za-z0-9_-]{1,64}))?$/;
const MAX_BODY_BYTES = 64 * 1024;

const body = z.strictObject({
  to_persona: z.string(),
  from_persona: z.string(),
  requested_queues: z.array(z.string()),
  requested_verbs: z.array(z.string()),
  requested_streaming: z.boolean().default(true),
  requested_push: z.boolean().default(false),
  reason: z.string().default(""),
  provenance: z.string(),
});

/**
 * `POST /a2a/friend-requests` takes a friend request; `GET /a2a/friend-requests/{id}` with its pickup token tells what
 * became of it, and hands the credential over, once (todo-delegation.md 2.7). Errors are
 * `{"error":{"code","message"}}`.
 */
export function createFriendRequestHandler(options: FriendRequestHandlerOptions): HttpHandler {
  const { requests } = options;
  const serve = async (
    request: HttpRequest,
    response: HttpResponse,
    match: RegExpExecArray,
  ): Promise<boolean> => {
    const id = match[1];
    const method = id === undefined ? "POST" : "GET";
    if (request.method !== method) {
      response.setHeader("allow", method);
      throw new BatonError("MethodNotAllowed", `only ${method} is served here`);
    }
    try {
      const waitMs = await options.admit(clientAddress(request));
      if (waitMs > 0) {
        const retryAfter = Math.ceil(waitMs / 1000);
        throw new FriendRequestRefused("rate_limited", "too many requests", { retryAfter });
      }
      if (id === undefined) answer(request, response, 202, await requests.receive(await parsed(request)));
      else answer(request, response, 200, await requests.pickup(id, tokenOf(request)));
    } catch (thrown) {
      const refused = refusalOf(thrown);
      options.onError(refused);
      const { code, message, retryAfter } = refused;
      const headers: [string, string][] =
        retryAfter === undefined ? [] : [["retry-after", String(retryAfter)]];
      if (code === "unauthenticated") headers.push(["www-authenticate", 'Bearer realm="baton"']);
      answer(request, response, REFUSALS[code], { error: { code, message } }, headers);
    }
    return true;
  };
  return (request, response) => {
    const match = PATH.exec((request.url ?? "").split("?", 1)[0] ?? "");
    return match === null ? false : serve(request, response, match);
  };
}

async function parsed(request: HttpRequest) {
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new FriendRequestRefused("unsupported_media_type", "the body must be application/json");
  }
  const text = await readBody(request, MAX_BODY_BYTES);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new FriendRequestRefused("invalid_request", "the body is not JSON");
  }
  const result = body.safeParse(json);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join(".") ?? "";
  const what = issue?.message ?? "is not valid";
  throw new FriendRequestRefused("invalid_request", where === "" ? what : `${where}: ${what}`);
}

function tokenOf(request: HttpRequest): string {
  const header = (name: string) => request.headers[name]?.toString();
  return bearerToken({ header }) ?? "";
}

function refusalOf(thrown: unknown): FriendRequestRefused {
  if (thrown instanceof FriendRequestRefused) return thrown;
  if (thrown instanceof BatonError) {
    if (thrown.kind === "PayloadTooLarge")
      return new FriendRequestRefused("payload_too_large", thrown.message);
    if (thrown.kind === "ParseError") return new FriendRequestRefused("invalid_request", thrown.message);
  }
  return new FriendRequestRefused("internal", "internal error", { cause: thrown });
}

function answer(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  value: object,
  headers: readonly [string, string][] = [],
): void {
  respond(request, response, {
    status,
    headers: [["cache-control", "no-store"], ...headers],
    contentType: "application/json",
    body: JSON.stringify(value),
  });
}
