/**
 * A small OpenWOP run host, in memory, for trying Baton and for testing it: both protocol majors on one origin, a
 * dozen workflows, and controls to drive runs, cause faults and read back every request.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { control } from "./control.ts";
import { discoveryDocument } from "./discovery.ts";
import { HostError } from "./engine.ts";
import { FAULT_TEXT, type Fault, FaultPlan } from "./faults.ts";
import { parseRequest } from "./requests.ts";
import { send } from "./respond.ts";
import { HostState, serve } from "./routes.ts";
import type { Principal } from "./run.ts";

export interface HostOptions {
  /** Default 0: the system chooses. */
  readonly port?: number;
  /** Who each API key belongs to. */
  readonly keys?: Readonly<Record<string, Principal>>;
}

/** Two tenants, and two people in the first. */
export const DEFAULT_KEYS: Readonly<Record<string, Principal>> = {
  "host-key-acme": { tenant: "acme", subject: "gateway" },
  "host-key-ada": { tenant: "acme", subject: "ada" },
  "host-key-other": { tenant: "other", subject: "gateway" },
};

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

const MAX_RECORDED = 20_000;

export class OpenWopHost {
  readonly state = new HostState();
  readonly faults = new FaultPlan();
  readonly requests: RecordedRequest[] = [];
  readonly streams = new Set<ServerResponse>();
  readonly keys: Readonly<Record<string, Principal>>;
  /** The `a2a` blocks shown in discovery, by major. */
  a2a: Partial<Record<1 | 2, Record<string, unknown>>> = {};
  #server: Server | undefined;
  #port: number;

  constructor(options: HostOptions = {}) {
    this.keys = options.keys ?? DEFAULT_KEYS;
    this.#port = options.port ?? 0;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens; after {@link stop}, on the same port again, with the runs as they are. */
  async start(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
    this.#server = server;
    server.keepAliveTimeout = 60_000;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.#port, "127.0.0.1", resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Cuts every connection. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  /** Cuts the open event streams and nothing else. */
  cutStreams(): void {
    for (const response of this.streams) response.destroy();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.startsWith("/_control/") === true) return control(this, request, response);
    if (this.requests.length < MAX_RECORDED) {
      this.requests.push({
        method: request.method ?? "",
        path: request.url ?? "",
        headers: { ...request.headers },
      });
    }
    try {
      const call = parseRequest(request);
      if (call.major === 2) response.setHeader("OpenWOP-Version", "2.0");
      if (call.route === "discovery") {
        send(response, 200, discoveryDocument(call.major, this.a2a[call.major]));
        return;
      }
      const by = this.#authenticate(request);
      const fault = this.faults.take(call.route, ["status", "hang", "reset", "lost", "late"]);
      if (fault !== undefined && fault.kind !== "lost" && fault.kind !== "late") {
        fail(fault, response);
        return;
      }
      if (call.route === "events") {
        this.streams.add(response);
        response.on("close", () => this.streams.delete(response));
      }
      const answer = await serve(this.state, this.faults, call, by, request, response);
      if (fault?.kind === "late") await new Promise((resolve) => setTimeout(resolve, fault.ms ?? 1000));
      if (fault?.kind === "lost") response.destroy();
      else if (answer !== undefined) send(response, answer.status, answer.body);
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      const { status, code, message, details } = error;
      send(response, status, { error: code, message: `${message} (${FAULT_TEXT})`, details });
    }
  }

  #authenticate(request: IncomingMessage): Principal {
    const key = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const principal = Object.hasOwn(this.keys, key) ? this.keys[key] : undefined;
    if (principal === undefined) throw new HostError(401, "unauthenticated", "unknown key");
    return principal;
  }
}

function fail(fault: Fault, response: ServerResponse): void {
  if (fault.kind === "hang") return;
  if (fault.kind === "reset") {
    response.destroy();
    return;
  }
  const status = fault.status ?? 500;
  if (fault.retryAfterSeconds !== undefined)
    response.setHeader("Retry-After", String(fault.retryAfterSeconds));
  send(response, status, {
    error: status === 429 ? "rate_limited" : "internal_error",
    message: FAULT_TEXT,
    details: {},
  });
}

/** Starts a host of its own. */
export async function startOpenWopHost(options: HostOptions = {}): Promise<OpenWopHost> {
  const host = new OpenWopHost(options);
  await host.start();
  return host;
}
