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
        const raw = Buffer.concat(sink.chunks);
        const head = raw.indexOf("\r\n\r\n");
        return { status: response.statusCode, headers: response.getHeaders(), body: raw.subarray(head + 4) };
      }
    }
    ended.catch(() => {});
    return undefined;
  } finally {
    clearTimeout(timer);
    sink.destroy();
  }
}
