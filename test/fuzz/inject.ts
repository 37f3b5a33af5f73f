/** Puts one request through an HTTP handler without a network: the same objects of Node, at many times the rate. */
import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { HttpHandler } from "../../src/transports/http-handler.ts";

export interface Injection {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface Injected {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

class Sink extends Duplex {
  readonly chunks: Buffer[] = [];
  readonly remoteAddress = "127.0.0.1";

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.chunks.push(chunk);
    done();
  }

  setTimeout(): this {
    return this;
  }
}

/** Longest time for one answer, in milliseconds: nothing that is tried has a reason to wait. */
const HANG_MS = 30_000;

/** Resolves with the answer, or with undefined where no handler took the request. Rejects when the answer never ends. */
export async function inject(
  handlers: readonly HttpHandler[],
  input: Injection,
): Promise<Injected | undefined> {
  const sink = new Sink();
  // Stands in for a socket; the handlers use of it what Sink has.
  const socket = sink as unknown as Socket;
  const request = new IncomingMessage(socket);
  request.method = input.method;
  request.url = input.url;
  request.httpVersionMajor = 1;
  request.httpVersionMinor = 1;
  request.httpVersion = "1.1";
  for (const [name, value] of Object.entries(input.headers)) request.headers[name] = value;
  if (input.body !== undefined) request.push(input.body);
  request.push(null);
  // All of it has arrived: otherwise its end is taken for a broken connection.
  request.complete = true;
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<void>((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${HANG_MS} ms`)), HANG_MS);
    response.once("finish", () => {
      response.emit("close");
      resolve();
    });
    sink.once("close", () => {
      response.emit("close");
      resolve();
    });
  });
  try {
    for (const handler of handlers) {
      if (await handler(request, response)) {
        await ended;
        return { status: response.statusCode, ...readAnswer(Buffer.concat(sink.chunks)) };
      }
    }
    ended.catch(() => {});
    return undefined;
  } finally {
    clearTimeout(timer);
    sink.destroy();
  }
}

/** What a client sees of an answer in HTTP/1.1. */
function readAnswer(raw: Buffer): Pick<Injected, "headers" | "body"> {
  const end = raw.indexOf("\r\n\r\n");
  const [, ...lines] = raw.toString("latin1", 0, end).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const body = raw.subarray(end + 4);
  return { headers, body: headers["transfer-encoding"] === "chunked" ? unchunked(body) : body };
}

function unchunked(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  let at = 0;
  while (at < body.length) {
    const line = body.indexOf("\r\n", at);
    const size = Number.parseInt(body.toString("latin1", at, line), 16);
    chunks.push(body.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  return Buffer.concat(chunks);
}
