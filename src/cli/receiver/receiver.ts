import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";

/** One push, as the receiver understood it. */
export interface ReceivedPush {
  readonly id: string;
  readonly sequence: number;
  readonly attempt: number;
  readonly version: string;
  /** It came before; a receiver does nothing for it. */
  readonly repeated: boolean;
  readonly authorized: boolean;
  readonly status: number;
  /** What the body holds: `statusUpdate`, `artifactUpdate`, `task`, or `unreadable`. */
  readonly kind: string;
  readonly state: string;
  readonly taskId: string;
  readonly body: string;
}

export interface ReceiverOptions {
  readonly key: string;
  readonly cert: string;
  readonly host: string;
  readonly port: number;
  /** The token or credential that every push must carry; undefined: any. */
  readonly token: string | undefined;
  /** Answer every push with this status. */
  readonly status: number;
  onPush(push: ReceivedPush): void;
}

const MAX_BODY = 1024 * 1024;
const REMEMBERED = 10_000;

/** A receiver for trials: checks the token, tells repetitions, says what came. */
export async function startReceiver(
  options: ReceiverOptions,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const seen = new Set<string>();
  const server: Server = createServer({ key: options.key, cert: options.cert }, (request, response) => {
    receive(request, response, options, seen).catch(() => request.socket.destroy());
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    url: `https://${host}:${port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  options: ReceiverOptions,
  seen: Set<string>,
): Promise<void> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) {
      response.writeHead(413).end();
      return;
    }
    chunks.push(chunk);
  }
  const { headers } = request;
  const id = text(headers["a2a-notification-id"]);
  const authorized = options.token === undefined || carries(headers, options.token);
  const status = authorized ? options.status : 401;
  const taken = status >= 200 && status < 300;
  const repeated = seen.has(id);
  // Only what was taken counts as seen: what was refused will come again and has to be worked then.
  if (taken && id !== "") remember(seen, id);
  response.writeHead(status).end();
  options.onPush({
    id,
    sequence: Number(text(headers["a2a-event-sequence"])),
    attempt: Number(text(headers["a2a-notification-attempt"])),
    version: text(headers["a2a-version"]),
    repeated,
    authorized,
    status,
    ...read(Buffer.concat(chunks).toString("utf8")),
  });
}

function remember(seen: Set<string>, id: string): void {
  seen.add(id);
  if (seen.size > REMEMBERED) for (const oldest of [...seen].slice(0, REMEMBERED / 2)) seen.delete(oldest);
}

/** Compares digests, so that the time taken says nothing about the token. */
function carries(headers: IncomingHttpHeaders, token: string): boolean {
  const digest = (value: string) => createHash("sha256").update(value).digest();
  const wanted = digest(token);
  const given = [text(headers["x-a2a-notification-token"]), text(headers.authorization).replace(/^\S+ /, "")];
  return given.some((value) => timingSafeEqual(digest(value), wanted));
}

function read(body: string): Pick<ReceivedPush, "kind" | "state" | "taskId" | "body"> {
  try {
    const json = JSON.parse(body) as Record<string, Body> & Body;
    const kind =
      ["statusUpdate", "artifactUpdate", "task"].find((name) => name in json) ?? json.kind ?? "unreadable";
    const event = json[kind] ?? json;
    return { kind, state: event.status?.state ?? "", taskId: event.taskId ?? event.id ?? "", body };
  } catch {
    return { kind: "unreadable", state: "", taskId: "", body };
  }
}

interface Body {
  readonly kind?: string;
  readonly id?: string;
  readonly taskId?: string;
  readonly status?: { readonly state?: string };
}

function text(header: string | string[] | undefined): string {
  return Array.isArray(header) ? header.join(", ") : (header ?? "");
}
