/** The test handlers on two listeners: one with the lean reader, one where Node's HTTP reads everything. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { taskNotFound } from "../../../src/domain/errors.ts";
import { type Listener, type ListenerOptions, startListener } from "../../../src/server/listener.ts";
import type { Call } from "../../../src/service/call.ts";
import { Dispatcher } from "../../../src/service/dispatcher.ts";
import { createConnectHandler } from "../../../src/transports/connect.ts";
import { createCorsHandler } from "../../../src/transports/cors.ts";
import type { CallHandler } from "../../../src/transports/http-handler.ts";
import { createJsonRpcHandler } from "../../../src/transports/jsonrpc/handler.ts";
import { leanCallsOf } from "../../../src/transports/lean-calls.ts";
import { createRestHandler } from "../../../src/transports/rest/handler.ts";
import { v03Bindings } from "../../../src/transports/v03/jsonrpc/bindings.ts";
import { v03Routes } from "../../../src/transports/v03/rest/routes.ts";
import { a2aHandlers, DISPATCH } from "../../unit/transports/a2a-server.ts";

export const MAX_BODY = 4096;
const RESERVED = new Set(["v1", "tasks", "message:send", "message:stream", "extendedAgentCard"]);

export interface RigOptions {
  readonly server?: Partial<ListenerOptions>;
  /** Origins whose pages may call. */
  readonly origins?: readonly string[];
}

export interface Rig {
  readonly lean: Listener;
  readonly node: Listener;
  /** How many requests the lean reader has served. */
  readonly served: number;
  /** Calls of GetTask `slow`, waiting to be told to answer. */
  readonly slow: { readonly call: Call; answer(): void }[];
  close(): Promise<void>;
}

export async function startRig({ server = {}, origins }: RigOptions = {}): Promise<Rig> {
  let served = 0;
  const slow: Rig["slow"] = [];
  const dispatcher = new Dispatcher({ ...DISPATCH, versions: ["1.0", "0.3"] });
  const handlers = a2aHandlers([]);
  dispatcher.register(
    A2AService,
    {
      ...handlers,
      async getTask(request, call) {
        if (request.id === "nope") throw taskNotFound(request.id);
        if (request.id === "throws") throw new Error("redis://secret:6379 is down");
        if (request.id === "injects") call.responseHeaders.set("x-odd", "a\r\nx-more: b");
        if (request.id === "slow") await new Promise<void>((resolve) => slow.push({ call, answer: resolve }));
        return handlers.getTask({ ...request, id: request.id }, call);
      },
    },
    { a2a: true },
  );
  const options = { dispatcher, service: A2AService, maxBodyBytes: MAX_BODY };
  const rest = createRestHandler({ ...options, moreRoutes: v03Routes() });
  const jsonrpc = createJsonRpcHandler({ ...options, moreBindings: v03Bindings(), reserved: RESERVED });
  const count: CallHandler = () => {
    served += 1;
    return false;
  };
  const broken: CallHandler = (request) => {
    if (request.headers["x-break"] !== undefined) throw new Error("redis://secret:6379 is down");
    return false;
  };
  const before = [
    broken,
    ...(origins === undefined ? [] : [createCorsHandler({ origins, maxAgeSeconds: 60 })]),
  ];
  const firstSegments = new Set([...RESERVED, "acme", "nobody"]);
  const common = {
    host: "127.0.0.1",
    port: 0,
    handlers: [...before, createConnectHandler({ dispatcher }), rest, jsonrpc],
    ...server,
  };
  const node = await startListener(common);
  const lean = await startListener({
    ...common,
    leanCalls: {
      takes: leanCallsOf({ rest, jsonrpc, firstSegments }),
      handlers: [count, ...before, rest, jsonrpc],
      maxBodyBytes: MAX_BODY,
    },
  });
  return {
    lean,
    node,
    slow,
    get served() {
      return served;
    },
    async close() {
      await Promise.all([lean.close(), node.close()]);
    },
  };
}

export interface Answer {
  /** Version and code; the words after it mean nothing. */
  readonly status: string;
  /** In order, with names as sent; those that differ from call to call have no value. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** One HTTP/1.1 connection that is written to byte by byte and read answer by answer. */
export class Wire {
  readonly socket: Socket;
  readonly answers: Answer[] = [];
  /** What has come and is no whole answer. */
  rest = "";
  readonly closed: Promise<unknown>;
  #wake = Promise.withResolvers<void>();

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    this.closed = new Promise((resolve) => socket.once("close", resolve));
    socket.once("close", () => this.#wake.resolve());
  }

  static async open({ port, url }: Pick<Listener, "port" | "url">, ca?: string): Promise<Wire> {
    const secure = url.startsWith("https:");
    const socket = secure
      ? connectTls({ port, host: "127.0.0.1", servername: "localhost", ...(ca === undefined ? {} : { ca }) })
      : connect(port, "127.0.0.1");
    socket.setNoDelay(true);
    await once(socket, secure ? "secureConnect" : "connect");
    return new Wire(socket);
  }

  write(piece: string | Buffer): void {
    if (this.socket.writable) this.socket.write(piece);
  }

  /** Resolves when so many answers are here, or the connection is closed. */
  async until(count: number): Promise<readonly Answer[]> {
    while (this.answers.length < count && !this.socket.closed) await this.#wake.promise;
    return this.answers;
  }

  /** Sends a request and gives its answer. */
  async call(request: string): Promise<Answer | undefined> {
    const count = this.answers.length + 1;
    this.write(request);
    return (await this.until(count))[count - 1];
  }

  #take(chunk: Buffer): void {
    this.rest += chunk.toString("latin1");
    for (;;) {
      const end = this.rest.indexOf("\r\n\r\n");
      if (end < 0) break;
      const [line = "", ...headers] = this.rest.slice(0, end).split("\r\n");
      const status = line.split(" ", 2).join(" ");
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.rest.slice(0, end))?.[1] ?? 0);
      const whole = end + 4 + length;
      if (this.rest.length < whole) break;
      const body = this.rest.slice(end + 4, whole);
      this.answers.push({ status, headers: headers.map(steady), body });
      this.rest = this.rest.slice(whole);
    }
    this.#wake.resolve();
    this.#wake = Promise.withResolvers<void>();
  }
}

/** Without what differs from call to call. */
export function steady(text: string): string {
  return text.replace(/^(date|x-request-id): .*$/gim, "$1");
}

/** A whole request; headers may be replaced by giving them again in `lines`. */
export function post(body: string, lines: readonly string[] = [], path = "/"): string {
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: a",
    "Authorization: Bearer acme",
    "A2A-Version: 1.0",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...lines,
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

export function get(path: string, lines: readonly string[] = []): string {
  const head = [
    `GET ${path} HTTP/1.1`,
    "Host: a",
    "Authorization: Bearer acme",
    "A2A-Version: 1.0",
    ...lines,
  ];
  return `${head.join("\r\n")}\r\n\r\n`;
}

export function rpc(method: string, params: object = {}, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}
