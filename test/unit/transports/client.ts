import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect as connectHttp2 } from "node:http2";

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  /** Sends the body without declaring its length. */
  readonly chunked?: boolean;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // Test assertions look into answers of many shapes.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests examine
  readonly json: any;
}

function reply(status: number, headers: IncomingHttpHeaders, text: string): Reply {
  return {
    status,
    headers,
    text,
    get json() {
      return JSON.parse(text);
    },
  };
}

/** One request over HTTP/1.1, with the path exactly as given. */
export function send1(port: number, sent: Sent): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { method = "GET", path = "/", headers = {}, body, chunked = false } = sent;
    const length = body === undefined || chunked ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const request = httpRequest(
      { port, host: "127.0.0.1", method, path, headers: { ...length, ...headers }, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () =>
          resolve(reply(response.statusCode ?? 0, response.headers, Buffer.concat(chunks).toString())),
        );
      },
    );
    request.on("error", reject);
    if (body !== undefined) request.write(body);
    request.end();
  });
}

/** One request over HTTP/2 in cleartext. */
export function send2(port: number, sent: Sent): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { method = "GET", path = "/", headers = {}, body } = sent;
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    session.on("error", reject);
    const stream = session.request(
      { ":method": method, ":path": path, ...headers },
      { endStream: body === undefined },
    );
    let status = 0;
    let answer: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    stream.on("response", (received) => {
      status = Number(received[":status"]);
      answer = received as IncomingHttpHeaders;
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () => {
      session.close();
      resolve(reply(status, answer, Buffer.concat(chunks).toString()));
    });
    if (body !== undefined) stream.end(body);
  });
}

export interface SseEvent {
  readonly event?: string;
  readonly id?: string;
  readonly data: string;
}

/** A strict reader of complete event streams: every field is one that the format has, every event ends blank. */
export function readSse(text: string): SseEvent[] {
  if (text !== "" && !text.endsWith("\n\n")) throw new Error("the stream ends within an event");
  const events: SseEvent[] = [];
  for (const block of text.split("\n\n").slice(0, -1)) {
    const fields: Record<string, string> = {};
    for (const line of block.split("\n")) {
      if (line.startsWith(":")) continue;
      const match = /^(event|id|data): (.*)$/.exec(line);
      if (match === null) throw new Error(`not a line of an event stream: ${line}`);
      const [, name = "", value = ""] = match;
      fields[name] = fields[name] === undefined ? value : `${fields[name]}\n${value}`;
    }
    if (fields.data !== undefined) events.push({ ...fields, data: fields.data });
  }
  return events;
}
