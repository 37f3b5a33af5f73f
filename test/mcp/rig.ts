import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

type Json = Record<string, unknown>;

/** The protocol's own client, connected with a credential. */
export async function connectMcp(url: string, credential: string, path = "/mcp"): Promise<McpPeer> {
  const client = new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(path, url), {
    requestInit: { headers: { authorization: `Bearer ${credential}` } },
  });
  await client.connect(transport);
  return {
    client,
    sessionId: transport.sessionId ?? "",
    async tools() {
      return (await client.listTools()).tools.map(({ name }) => name);
    },
    async call(name, args = {}) {
      const result = await client.callTool({ name, arguments: args });
      const [content] = result.content as { type: string; text: string }[];
      if (result.isError === true) throw new ToolFailure(content?.text ?? "");
      expectSame(content?.text, result.structuredContent);
      return result.structuredContent as Json;
    },
    async close() {
      await transport.terminateSession().catch(() => {});
      await client.close();
    },
  };
}

export interface McpPeer {
  readonly client: Client;
  readonly sessionId: string;
  tools(): Promise<string[]>;
  /** The structured result; throws {@link ToolFailure} where the tool says that it failed. */
  call(name: string, args?: Json): Promise<Json>;
  close(): Promise<void>;
}

/** What a tool answered as an error. */
export class ToolFailure extends Error {}

function expectSame(text: string | undefined, structured: unknown): void {
  if (text !== JSON.stringify(structured)) throw new Error(`text and structure differ: ${text}`);
}

export const ACCEPT = "application/json, text/event-stream";

/** A client that sends exactly what it is told, to see statuses and streams. */
export class RawMcp {
  readonly url: string;
  readonly headers: Record<string, string>;
  #id = 0;

  constructor(url: string, credential: string, path = "/mcp") {
    this.url = `${url}${path}`;
    this.headers = {
      authorization: `Bearer ${credential}`,
      accept: ACCEPT,
      "content-type": "application/json",
    };
  }

  request(method: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    return fetch(this.url, {
      method,
      headers: { ...this.headers, ...headers },
      ...(text === undefined ? {} : { body: text }),
    });
  }

  rpc(method: string, params: unknown, headers: Record<string, string> = {}): Promise<Response> {
    this.#id += 1;
    return this.request("POST", { jsonrpc: "2.0", id: this.#id, method, params }, headers);
  }

  initialize(): Promise<Response> {
    const clientInfo = { name: "raw", version: "1" };
    return this.rpc("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  }

  /** Opens a session and answers its id. */
  async session(): Promise<string> {
    const response = await this.initialize();
    if (!response.ok) throw new Error(`initialize: ${response.status} ${await response.text()}`);
    await response.text();
    return response.headers.get("mcp-session-id") ?? "";
  }

  /** Calls a tool in a session; answers its text. */
  async tool(session: string, name: string, args: Json = {}): Promise<{ isError: boolean; text: string }> {
    const response = await this.rpc("tools/call", { name, arguments: args }, { "mcp-session-id": session });
    const { result } = (await response.json()) as {
      result: { isError?: boolean; content: { text: string }[] };
    };
    return { isError: result.isError === true, text: result.content[0]?.text ?? "" };
  }

  /** Opens the notification stream of a session, which is open when this resolves. */
  async listen(session: string): Promise<Stream> {
    const abort = new AbortController();
    const headers = { ...this.headers, "mcp-session-id": session, accept: "text/event-stream" };
    const response = await fetch(this.url, { headers, signal: abort.signal });
    if (response.status !== 200) throw new Error(`listen: ${response.status}`);
    return new Stream(response, abort);
  }
}

export interface Notification {
  readonly method: string;
  readonly params: { readonly content: string; readonly meta: Readonly<Record<string, string>> };
}

/** What came over a notification stream. */
export class Stream {
  readonly notifications: Notification[] = [];
  readonly ended: Promise<void>;
  readonly #abort: AbortController;

  constructor(response: Response, abort: AbortController) {
    this.#abort = abort;
    this.ended = this.#read(response).catch(() => {});
  }

  async #read(response: Response): Promise<void> {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) {
        const data = event.split("\n").find((line) => line.startsWith("data: "));
        if (data !== undefined) this.notifications.push(JSON.parse(data.slice(6)) as Notification);
      }
    }
  }

  close(): void {
    this.#abort.abort();
  }
}
