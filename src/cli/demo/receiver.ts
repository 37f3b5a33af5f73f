import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

const PATIENCE_MS = 10_000;

/** Takes pushes and remembers the states that they bring. */
export class Receiver {
  readonly states: string[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const state = /"TASK_STATE_[A-Z_]+"/.exec(Buffer.concat(chunks).toString())?.[0];
        if (state !== undefined) this.states.push(state.slice(1, -1));
        response.statusCode = 204;
        response.end();
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/push`;
  }

  async start(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async wait(state: string): Promise<void> {
    const until = Date.now() + PATIENCE_MS;
    while (!this.states.includes(state)) {
      if (Date.now() > until)
        throw new Error(`no push with ${state}; there were: ${this.states.join(", ") || "none"}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}
