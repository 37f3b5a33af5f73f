import { randomUUID } from "node:crypto";
import type { DescService, Message } from "@bufbuild/protobuf";
import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { Caller } from "../../domain/caller.ts";
import { BatonError } from "../../domain/errors.ts";
import type { ProtocolVersion, RequestMeta } from "../../service/call.ts";
import { untilAborted } from "./abort.ts";
import { failure } from "./errors.ts";
import type { ConnectHandlerOptions } from "./options.ts";
import { ACCEPTED_ENCODINGS, type RequestBody, readRequestMessage } from "./request-message.ts";
import type { Wire } from "./wire.ts";

/** What one request of a Dispatcher service carries through connect-es. */
export interface State extends RequestBody {
  readonly remoteAddress: string;
  meta?: RequestMeta;
  caller?: Caller;
  message?: Message;
}

export const stateKey = createContextKey<State | undefined>(undefined);

/** Runs before connect-es reads: the timeout, the credential, then the message (A2A-8, SB-53). */
export async function admit(context: HandlerContext, options: ConnectHandlerOptions): Promise<void> {
  const state = stateOf(context);
  context.responseHeader.set(acceptHeader(state.wire), ACCEPTED_ENCODINGS);
  try {
    checkTimeout(context);
    state.meta = metaOf(context, state);
    state.caller = await options.dispatcher.authenticate(state.meta);
    const timeout = AbortSignal.timeout(options.bodyTimeoutMs ?? 30_000);
    state.message = await untilAborted(
      readRequestMessage(context.method.input, state),
      AbortSignal.any([context.signal, timeout]),
    ).catch((thrown: unknown) => {
      if (!timeout.aborted) throw thrown;
      throw new BatonError("DeadlineExceeded", "the request took too long to arrive");
    });
  } catch (thrown) {
    const { caller, meta } = state;
    throw failure(thrown, context, options, { caller, requestId: meta?.requestId });
  }
}

function acceptHeader({ protocol, enveloped }: Wire): string {
  if (protocol !== "connect") return "grpc-accept-encoding";
  return enveloped ? "connect-accept-encoding" : "accept-encoding";
}

function checkTimeout({ requestHeader }: HandlerContext): void {
  const grpc = requestHeader.get("grpc-timeout");
  const connect = requestHeader.get("connect-timeout-ms");
  if (
    (grpc !== null && !/^\d{1,8}[HMSmun]$/.test(grpc)) ||
    (connect !== null && !/^\d{1,10}$/.test(connect))
  ) {
    throw new BatonError("InvalidRequest", "the timeout of the call is not valid");
  }
}

function metaOf(context: HandlerContext, state: State): RequestMeta {
  const timeoutMs = context.timeoutMs();
  const { searchParams } = new URL(context.url);
  return {
    requestId: randomUUID(),
    transport: state.wire.protocol,
    form: formOf(context.service),
    header: (name) => state.header.get(name) ?? undefined,
    query: (name) => searchParams.get(name) ?? undefined,
    remoteAddress: state.remoteAddress,
    signal: context.signal,
    ...(timeoutMs === undefined ? {} : { deadlineAt: Date.now() + timeoutMs }),
  };
}

/** The gRPC package of 0.3 is `a2a.v1`; every other service has one form only (A2A-150). */
function formOf(service: DescService): ProtocolVersion {
  return service.file.proto.package === "a2a.v1" ? "0.3" : "1.0";
}

function stateOf(context: HandlerContext): State {
  const state = context.values.get(stateKey);
  if (state === undefined) throw new BatonError("Internal", "internal error");
  return state;
}

/** What {@link admit} found. */
export function admitted(context: HandlerContext): {
  wire: Wire;
  message: Message;
  meta: RequestMeta;
  caller: Caller;
} {
  const { wire, message, meta, caller } = stateOf(context);
  if (message === undefined || meta === undefined || caller === undefined) {
    throw new BatonError("Internal", "internal error");
  }
  return { wire, message, meta, caller };
}
