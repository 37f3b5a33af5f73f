import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Status } from "../../gen/google/rpc/status_pb.js";
import type { Caller } from "../domain/caller.ts";
import type { ResponseHeaders, StreamItem } from "./call.ts";

/** What goes with an answer besides its messages. */
interface Answer {
  readonly headers: ResponseHeaders;
  /** Trailing metadata for gRPC and Connect, asked for when the last message has gone; absent: none. */
  trailers?(): Readonly<Record<string, string>>;
}

/** An answer and the headers to send with it. */
export interface UnaryResult<T> extends Answer {
  readonly message: T;
}

/** A unary call of a known caller. `run` handles it, once, and rejects with what it is refused with. */
export type AroundCall = <T extends UnaryResult<Message>>(
  about: {
    readonly method: DescMethod;
    readonly request: Message;
    readonly caller: Caller;
    readonly requestId: string;
  },
  run: () => Promise<T>,
) => Promise<T>;

/** A started stream: its first item has been produced, so `headers` are final. */
export interface StreamResult<T> extends Answer {
  readonly items: AsyncIterable<StreamItem<T>>;
}

/** An error as gRPC and Connect tell it. */
export interface RpcError {
  readonly status: Status;
  readonly metadata: Readonly<Record<string, string>>;
}
