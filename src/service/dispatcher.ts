import { randomUUID } from "node:crypto";
import type {
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageShape,
} from "@bufbuild/protobuf";
import type { Caller } from "../domain/caller.ts";
import { BatonError, invalidParams, taskNotFound } from "../domain/errors.ts";
import { requiredFieldViolations } from "../domain/required-fields.ts";
import type {
  Call,
  Handlers,
  ProtocolVersion,
  RequestMeta,
  StreamHandler,
  StreamItem,
  UnaryHandler,
} from "./call.ts";
import { negotiateVersion } from "./version.ts";

/** Who may call a service. `caller`: holders of an endpoint credential; `admin`: holders of the admin credential. */
export type Audience = "caller" | "admin";

/** What the dispatcher needs from the rest of the gateway. */
export interface DispatcherOptions {
  /** Resolves the credential of a request, or throws Unauthenticated (SB-1). */
  authenticate(meta: RequestMeta): Promise<Caller>;
  /** Whether an agent of that name is served here. */
  hasAgent(name: string): boolean;
  /** Versions offered on the A2A service. */
  readonly versions: readonly ProtocolVersion[];
  /** Read an absent version as 0.3 even where the request can only be 1.0 (A2A-19). */
  readonly strictVersions: boolean;
  /** Runs before each handler: rate limits, capability checks. Throws to refuse. */
  admit?(call: Call, method: DescMethod): Promise<void>;
}

interface Registration {
  readonly service: DescService;
  readonly handlers: Readonly<Record<string, unknown>>;
  readonly a2a: boolean;
  readonly ownChecks: boolean;
}

/** An answer and the headers to send with it. */
export interface UnaryResult<T> {
  readonly message: T;
  readonly headers: Headers;
}

/** A started stream: its first item has been produced, so `headers` are final. */
export interface StreamResult<T> {
  readonly items: AsyncIterable<StreamItem<T>>;
  readonly headers: Headers;
}

/**
 * The one way from any transport to any handler: version, caller, tenant, required fields, admission, handler.
 * Transports call {@link Dispatcher.authenticate} before they read a body, then {@link Dispatcher.unary} or
 * {@link Dispatcher.stream} with the parsed request.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #registrations = new Map<string, Registration>();

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /**
   * Registers a service. `a2a`: version negotiation, tenants and extensions apply to its methods. `ownChecks`: its
   * handlers look for missing fields themselves, as those of a translated service do, whose proto annotates otherwise.
   */
  register<S extends DescService>(
    service: S,
    handlers: Handlers<S>,
    options: { readonly a2a: boolean; readonly ownChecks?: boolean },
  ): void {
    const { a2a, ownChecks = false } = options;
    this.#registrations.set(service.typeName, { service, handlers, a2a, ownChecks });
  }

  get services(): readonly DescService[] {
    return [...this.#registrations.values()].map(({ service }) => service);
  }

  /** Resolves the caller, so that a transport can refuse before it parses anything (A2A-8, A2A-9). */
  authenticate(meta: RequestMeta): Promise<Caller> {
    return this.#options.authenticate(meta);
  }

  /**
   * Refuses an A2A request for a version that is not served, before a transport looks for its method or reads its
   * parameters: both may be of a shape that only that version knows (A2A-20).
   */
  checkVersion(meta: RequestMeta): void {
    negotiateVersion(meta, this.#options.versions, this.#options.strictVersions);
  }

  async unary<M extends DescMethodUnary>(
    method: M,
    request: MessageShape<M["input"]>,
    meta: RequestMeta,
    caller?: Caller,
  ): Promise<UnaryResult<MessageShape<M["output"]>>> {
    try {
      const call = await this.#prepare(method, request, meta, caller);
      const handler = this.#handler(method) as UnaryHandler<M>;
      const message = await handler(request, call);
      return { message, headers: call.responseHeaders };
    } catch (thrown) {
      throw BatonError.from(thrown);
    }
  }

  /**
   * Starts a stream and waits for its first item, so that an early failure is an ordinary error of the call (A2A-80,
   * A2A-139). Errors after that are thrown by the returned iterable, as BatonError.
   */
  async stream<M extends DescMethodServerStreaming>(
    method: M,
    request: MessageShape<M["input"]>,
    meta: RequestMeta,
    caller?: Caller,
  ): Promise<StreamResult<MessageShape<M["output"]>>> {
    try {
      const call = await this.#prepare(method, request, meta, caller);
      const handler = this.#handler(method) as StreamHandler<M>;
      const iterator = handler(request, call)[Symbol.asyncIterator]();
      const first = await iterator.next();
      return { items: resume(first, iterator), headers: call.responseHeaders };
    } catch (thrown) {
      throw BatonError.from(thrown);
    }
  }

  #handler(method: DescMethod): unknown {
    const handler = this.#registrations.get(method.parent.typeName)?.handlers[method.localName];
    if (typeof handler !== "function")
      throw new BatonError("MethodNotFound", `unknown method ${method.name}`);
    return handler;
  }

  async #prepare(method: DescMethod, request: Message, meta: RequestMeta, known?: Caller): Promise<Call> {
    const registration = this.#registrations.get(method.parent.typeName);
    if (registration === undefined) throw new BatonError("MethodNotFound", `unknown method ${method.name}`);
    const caller = known ?? (await this.#options.authenticate(meta));
    const { versions, strictVersions } = this.#options;
    const version = registration.a2a ? negotiateVersion(meta, versions, strictVersions) : "1.0";
    const agent = registration.a2a ? this.#agentOf(method, request, meta, caller) : caller.agent;
    const lastEventId = meta.header("a2a-last-event-id") ?? meta.header("last-event-id");
    const traceparent = meta.header("traceparent");
    const call: Call = {
      caller,
      agent,
      version,
      transport: meta.transport,
      extensions: extensionList(meta),
      signal: meta.signal,
      requestId: meta.requestId ?? randomUUID(),
      responseHeaders: new Headers(),
      ...(meta.deadlineAt === undefined ? {} : { deadlineAt: meta.deadlineAt }),
      ...(lastEventId === undefined ? {} : { lastEventId }),
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    call.responseHeaders.set("x-request-id", call.requestId);
    await this.#options.admit?.(call, method);
    const violations = registration.ownChecks ? [] : requiredFieldViolations(method.input, request);
    if (violations.length > 0) throw invalidParams(...violations);
    return call;
  }

  /**
   * The agent that a request is for (A2A-17). Path and message must agree; an unknown agent is never another agent's
   * data; a credential of another agent is refused before anything runs (SB-2).
   */
  #agentOf(method: DescMethod, request: Message, meta: RequestMeta, caller: Caller): string {
    const named = (request as Message & { tenant?: unknown }).tenant;
    const inMessage = typeof named === "string" ? named : "";
    const inPath = meta.pathTenant ?? "";
    if (inPath !== "" && !this.#options.hasAgent(inPath)) {
      throw new BatonError("RouteNotFound", "no such agent");
    }
    if (inMessage !== "" && inPath !== "" && inMessage !== inPath) {
      throw invalidParams({ field: "tenant", description: "differs from the tenant in the path" });
    }
    const tenant = inMessage || inPath || caller.agent;
    if (!this.#options.hasAgent(tenant)) {
      const id = taskIdOf(request);
      if (id !== undefined && method.input.typeName !== "lf.a2a.v1.SendMessageRequest")
        throw taskNotFound(id);
      throw invalidParams({ field: "tenant", description: "names no agent of this gateway" });
    }
    if (tenant !== caller.agent)
      throw new BatonError("Forbidden", "the credential does not match this agent");
    return tenant;
  }
}

function taskIdOf(request: Message): string | undefined {
  const { id, taskId } = request as Message & { id?: unknown; taskId?: unknown };
  if (typeof taskId === "string") return taskId;
  return typeof id === "string" ? id : undefined;
}

/** Both spellings of the header, comma-separated, repeated or blank (A2A-24, A2A-175). */
function extensionList(meta: RequestMeta): readonly string[] {
  const text = [meta.header("a2a-extensions"), meta.header("x-a2a-extensions")].filter(Boolean).join(",");
  return [...new Set(text.split(",").map((uri) => uri.trim()))].filter((uri) => uri !== "");
}

async function* resume<T>(
  first: IteratorResult<StreamItem<T>>,
  iterator: AsyncIterator<StreamItem<T>>,
): AsyncGenerator<StreamItem<T>> {
  try {
    for (let next = first; next.done !== true; next = await iterator.next()) yield next.value;
  } catch (thrown) {
    throw BatonError.from(thrown);
  } finally {
    await iterator.return?.();
  }
}
