import type {
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageShape,
} from "@bufbuild/protobuf";
import type { Caller } from "../domain/caller.ts";
import { errorMetadata, errorStatus } from "../domain/error-details.ts";
import { BatonError, type ErrorTable, type FieldViolation, invalidParams } from "../domain/errors.ts";
import { unreadableViolations } from "../domain/readable-fields.ts";
import { requiredFieldViolations } from "../domain/required-fields.ts";
import { type CallObserver, UNKNOWN_METHOD } from "../telemetry/calls.ts";
import { runInSpan } from "../telemetry/tracing/active.ts";
import type { Tracer } from "../telemetry/tracing/span.ts";
import { addressedAgent } from "./addressed-agent.ts";
import type { AroundCall, RpcError, StreamResult, UnaryResult } from "./answer.ts";
import type { Call, Handlers, ProtocolVersion, RequestMeta, StreamHandler, UnaryHandler } from "./call.ts";
import { DispatchedCall } from "./dispatched-call.ts";
import { activatedExtensions, echoExtensions, type OfferedExtension } from "./extensions.ts";
import { type Negotiation, negotiate } from "./negotiation-log.ts";
import { ObservedCall, tracedBy } from "./observed-call.ts";
import { StartedStream } from "./started-stream.ts";
import { negotiateVersion } from "./version.ts";

/** What the dispatcher needs from the rest of the gateway. */
export interface DispatcherOptions {
  /** Resolves the credential of a request, at once where it can, or throws Unauthenticated (SB-1). */
  authenticate(meta: RequestMeta): Caller | Promise<Caller>;
  /** Whether an agent of that name is served here. */
  hasAgent(name: string): boolean;
  /** Versions offered on the A2A service. */
  readonly versions: readonly ProtocolVersion[];
  /** Versions of an agent that offers other ones, preferred first; undefined: those of the gateway. */
  versionsOf?(agent: string): readonly ProtocolVersion[] | undefined;
  /** Who is told how the version of each call to an agent was agreed on; undefined: nobody. */
  onNegotiated?(agent: string): ((negotiation: Negotiation) => void) | undefined;
  /** Read an absent version as 0.3 even where the request can only be 1.0 (A2A-19). */
  readonly strictVersions: boolean;
  /** Which edition of the error table an agent answers with (A2A-158); absent: the newest. */
  errorTable?(agent: string): ErrorTable;
  /** The extensions that an agent's card names; absent: none. */
  extensions?(agent: string): readonly OfferedExtension[];
  /** Runs before each handler: rate limits, capability checks. Throws to refuse; undefined: admitted at once. */
  admit?(call: Call, method: DescMethod): Promise<void> | undefined;
  /** Stands around each unary call of a known caller, refused ones included; absent: nothing does. */
  readonly around?: AroundCall | undefined;
  /** Told of each call when it has ended; absent: nothing is measured. */
  readonly observe?: CallObserver | undefined;
  /** Makes a span of each call; absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

const NONE: readonly FieldViolation[] = [];

interface Registration {
  readonly service: DescService;
  readonly handlers: Readonly<Record<string, unknown>>;
  readonly a2a: boolean;
  readonly ownChecks: boolean;
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

  /**
   * Resolves the caller, so that a transport can refuse before it parses anything (A2A-8, A2A-9). At once where the caller
   * is known; throws, or rejects, with what the request is refused with.
   */
  authenticate(meta: RequestMeta): Caller | Promise<Caller> {
    const { authenticate, observe } = this.#options;
    if (observe === undefined) return authenticate(meta);
    const observed = new ObservedCall({ observe }, meta, { method: UNKNOWN_METHOD, stream: false });
    const refused = (thrown: unknown): never => {
      observed.end(BatonError.from(thrown).kind);
      throw thrown;
    };
    try {
      const caller = authenticate(meta);
      return caller instanceof Promise ? caller.catch(refused) : caller;
    } catch (thrown) {
      return refused(thrown);
    }
  }

  /**
   * The edition of the error table for answers to a caller. A credential belongs to one agent, so its agent decides; the
   * errors of a request without a valid one are the same in every edition.
   */
  errorTable(caller: Caller | undefined): ErrorTable {
    const agent = caller?.agent ?? "";
    if (agent === "" || !this.#options.hasAgent(agent)) return "1.0.1";
    return this.#options.errorTable?.(agent) ?? "1.0.1";
  }

  /** An error for gRPC and Connect, in the edition of the caller's agent. */
  rpcError(error: BatonError, caller: Caller | undefined): RpcError {
    return { status: errorStatus(error, this.errorTable(caller)), metadata: errorMetadata(error) };
  }

  /**
   * Refuses an A2A request for a version that is not served, before a transport looks for its method or reads its
   * parameters: both may be of a shape that only that version knows (A2A-20).
   */
  checkVersion(meta: RequestMeta, caller?: Caller): void {
    if (caller !== undefined) this.#negotiate(meta, caller);
    else negotiateVersion(meta, this.#options.versions, this.#options.strictVersions);
  }

  /** An agent may offer less than the gateway; a credential belongs to one agent. */
  #versionsOf(caller: Caller): readonly ProtocolVersion[] {
    const { versions, versionsOf } = this.#options;
    return versionsOf?.(caller.agent) ?? versions;
  }

  /** Version and its record; by now the peer is authenticated, so nobody is talked down without proof (OW-9). */
  #negotiate(meta: RequestMeta, caller: Caller): ProtocolVersion {
    const { strictVersions: strict } = this.#options;
    const onOutcome = this.#options.onNegotiated?.(caller.agent);
    const versions = this.#versionsOf(caller);
    if (onOutcome === undefined) return negotiateVersion(meta, versions, strict);
    return negotiate(meta, caller.id, { versions, strict, onOutcome });
  }

  unary<M extends DescMethodUnary>(
    method: M,
    request: MessageShape<M["input"]>,
    meta: RequestMeta,
    caller?: Caller,
  ): Promise<UnaryResult<MessageShape<M["output"]>>> {
    const observed = this.#observe(method, meta, caller);
    const work = () => this.#unary(method, request, meta, caller, observed);
    return observed?.span === undefined ? work() : runInSpan(observed.span, work);
  }

  async #unary<M extends DescMethodUnary>(
    method: M,
    request: MessageShape<M["input"]>,
    meta: RequestMeta,
    caller: Caller | undefined,
    observed: ObservedCall | undefined,
  ): Promise<UnaryResult<MessageShape<M["output"]>>> {
    const { around, authenticate } = this.#options;
    try {
      const known = caller ?? (await authenticate(meta));
      const handle = () => this.#handle(method, request, meta, known, observed);
      const requestId = meta.requestId ?? "";
      const result = await (around?.({ method, request, caller: known, requestId }, handle) ?? handle());
      observed?.end("ok");
      return result;
    } catch (thrown) {
      const error = BatonError.from(thrown);
      observed?.end(error.kind);
      throw error;
    }
  }

  async #handle<M extends DescMethodUnary>(
    method: M,
    request: MessageShape<M["input"]>,
    meta: RequestMeta,
    caller: Caller,
    observed: ObservedCall | undefined,
  ): Promise<UnaryResult<MessageShape<M["output"]>>> {
    const prepared = this.#prepare(method, request, meta, caller, observed);
    const call = prepared instanceof Promise ? await prepared : prepared;
    observed?.prepared(call);
    const handler = this.#handler(method) as UnaryHandler<M>;
    return { message: await handler(request, call), headers: call.responseHeaders };
  }

  /**
   * Starts a stream and waits for its first item, so that an early failure is an ordinary error of the call (A2A-80,
   * A2A-139). Errors after that are thrown by the returned iterable, as BatonError.
   */
  stream<M extends DescMethodServerStreaming>(
    method: M,
    request: MessageShape<M["input"]>,
    meta: RequestMeta,
    caller?: Caller,
  ): Promise<StreamResult<MessageShape<M["output"]>>> {
    const observed = this.#observe(method, meta, caller);
    const work = () => this.#stream(method, request, meta, caller, observed);
    return observed?.span === undefined ? work() : runInSpan(observed.span, work);
  }

  async #stream<M extends DescMethodServerStreaming>(
    method: M,
    request: MessageShape<M["input"]>,
    meta: RequestMeta,
    caller: Caller | undefined,
    observed: ObservedCall | undefined,
  ): Promise<StreamResult<MessageShape<M["output"]>>> {
    try {
      const known = caller ?? (await this.#options.authenticate(meta));
      const call = await this.#prepare(method, request, meta, known, observed);
      observed?.prepared(call);
      const handler = this.#handler(method) as StreamHandler<M>;
      const produced = handler(request, call)[Symbol.asyncIterator]();
      const first = await (observed?.next(produced) ?? produced.next());
      const items = new StartedStream(first, produced, meta.signal, observed);
      return { items, headers: call.responseHeaders, trailers: () => items.trailers() };
    } catch (thrown) {
      const error = BatonError.from(thrown);
      observed?.end(error.kind);
      throw error;
    }
  }

  #observe(method: DescMethod, meta: RequestMeta, caller: Caller | undefined): ObservedCall | undefined {
    const { observe, tracer } = this.#options;
    if (observe === undefined && tracer === undefined) return undefined;
    const name = `${method.parent.typeName}/${method.name}`;
    const stream = method.methodKind !== "unary";
    return new ObservedCall(this.#options, meta, { method: name, stream, caller });
  }

  #handler(method: DescMethod): unknown {
    const handler = this.#registrations.get(method.parent.typeName)?.handlers[method.localName];
    if (typeof handler !== "function")
      throw new BatonError("MethodNotFound", `unknown method ${method.name}`);
    return handler;
  }

  /** What comes before each handler; a promise only where somebody else must be asked whether the call is admitted. */
  #prepare(
    method: DescMethod,
    request: Message,
    meta: RequestMeta,
    caller: Caller,
    observed: ObservedCall | undefined,
  ): Call | Promise<Call> {
    const registration = this.#registrations.get(method.parent.typeName);
    if (registration === undefined) throw new BatonError("MethodNotFound", `unknown method ${method.name}`);
    const version = registration.a2a ? this.#negotiate(meta, caller) : "1.0";
    const agent = registration.a2a
      ? addressedAgent(method, request, meta, caller, this.#options.hasAgent)
      : caller.agent;
    const trace = observed?.span?.context ?? tracedBy(meta);
    const call = new DispatchedCall(meta, caller, agent, version, trace);
    const admitted = this.#options.admit?.(call, method);
    if (admitted === undefined) return this.#checked(registration, method, request, call);
    return admitted.then(() => this.#checked(registration, method, request, call));
  }

  #checked(
    registration: Registration,
    method: DescMethod,
    request: Message,
    call: DispatchedCall,
  ): DispatchedCall {
    if (registration.a2a) this.#activate(call);
    const missing = registration.ownChecks ? NONE : requiredFieldViolations(method.input, request);
    const unreadable = unreadableViolations(method.input, request);
    if (missing.length + unreadable.length > 0) throw invalidParams(...missing, ...unreadable);
    return call;
  }

  #activate(call: DispatchedCall): void {
    const offered = this.#options.extensions?.(call.agent) ?? [];
    call.extensions = activatedExtensions(call.extensions, offered);
    echoExtensions(call.responseHeaders, call.extensions, call.version);
  }
}
