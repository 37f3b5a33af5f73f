import { randomUUID } from "node:crypto";
import { request } from "undici";

/** Any JSON: tests look into it freely and fail on what is not there. */
// biome-ignore lint/suspicious/noExplicitAny: answers are checked by what the test expects of them.
export type Json = any;

export interface RpcAnswer {
  readonly status: number;
  readonly body: Json;
  readonly result: Json;
  readonly error: Json;
}

/** An A2A client by plain JSON-RPC, as the conformance suite is one: a URL, a credential, a version header. */
export class RpcClient {
  readonly url: string;
  readonly token: string;
  readonly version: string;

  constructor(url: string, token: string, version = "1.0") {
    this.url = url;
    this.token = token;
    this.version = version;
  }

  async call(method: string, params: Json, headers: Record<string, string> = {}): Promise<RpcAnswer> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method, params });
    return this.post(body, headers);
  }

  async post(body: string, headers: Record<string, string> = {}): Promise<RpcAnswer> {
    const response = await request(this.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(this.version === "" ? {} : { "a2a-version": this.version }),
        ...(this.token === "" ? {} : { authorization: `Bearer ${this.token}` }),
        ...headers,
      },
      body,
    });
    const text = await response.body.text();
    let parsed: Json;
    try {
      parsed = JSON.parse(text);
    } catch {
      parsed = undefined;
    }
    return { status: response.statusCode, body: parsed, result: parsed?.result, error: parsed?.error };
  }

  /** SendMessage with one text and no task: starts a run. Answers the Task. */
  async start(text = "hello", extra: Json = {}): Promise<Json> {
    const answer = await this.send(text, extra);
    if (answer.result?.task === undefined) throw new Error(`no task: ${JSON.stringify(answer.body)}`);
    return answer.result.task;
  }

  async send(text: string, extra: Json = {}): Promise<RpcAnswer> {
    const { message, ...rest } = extra;
    return this.call("SendMessage", {
      message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...message },
      ...rest,
    });
  }

  /** Answers an approval, in the data part and in the metadata, as the suite does. */
  async decide(taskId: string, value: Json, message: Json = {}): Promise<RpcAnswer> {
    return this.call("SendMessage", {
      message: {
        messageId: randomUUID(),
        role: "ROLE_USER",
        taskId,
        parts: [{ data: value }],
        metadata: { openwop: { interrupt: value } },
        ...message,
      },
    });
  }

  async task(id: string): Promise<Json> {
    const answer = await this.call("GetTask", { id });
    if (answer.result === undefined) throw new Error(`no task: ${JSON.stringify(answer.body)}`);
    return answer.result;
  }

  /** Waits until GetTask shows a state. */
  async until(id: string, state: string, ms = 10_000): Promise<Json> {
    const end = Date.now() + ms;
    for (;;) {
      const task = await this.task(id);
      if (task.status.state === state) return task;
      if (Date.now() > end) throw new Error(`${state} not reached: ${JSON.stringify(task)}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }

  /** Opens a stream; items arrive in `items` until it ends. */
  stream(
    method: string,
    params: Json,
  ): { readonly items: Json[]; readonly ended: Promise<void>; stop(): void } {
    const abort = new AbortController();
    const items: Json[] = [];
    const ended = (async () => {
      const response = await request(this.url, {
        method: "POST",
        signal: abort.signal,
        headers: {
          "content-type": "application/json",
          accept: "text/event-stream",
          "a2a-version": this.version,
          authorization: `Bearer ${this.token}`,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      let buffer = "";
      for await (const chunk of response.body) {
        buffer += String(chunk);
        for (let at = buffer.indexOf("\n\n"); at >= 0; at = buffer.indexOf("\n\n")) {
          const frame = buffer.slice(0, at);
          buffer = buffer.slice(at + 2);
          const data = frame
            .split("\n")
            .filter((line) => line.startsWith("data:"))
            .map((line) => line.slice(5))
            .join("\n");
          if (data !== "") items.push(JSON.parse(data));
        }
      }
      if (buffer.trim().startsWith("{")) items.push(JSON.parse(buffer));
    })();
    ended.catch(() => {});
    return { items, ended, stop: () => abort.abort() };
  }
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until a check holds. */
export async function eventually(
  check: () => boolean | Promise<boolean>,
  what: string,
  ms = 10_000,
): Promise<void> {
  const end = Date.now() + ms;
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`never: ${what}`);
    await sleep(20);
  }
}
