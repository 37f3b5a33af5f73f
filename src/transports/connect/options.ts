import type { ConnectRouter } from "@connectrpc/connect";
import type { Dispatcher } from "../../service/dispatcher.ts";

/** A Connect service that stands outside the Dispatcher: health, reflection. Its calls carry no caller. */
export type PlainService = (router: ConnectRouter) => void;

export interface ConnectHandlerOptions {
  readonly dispatcher: Dispatcher;
  readonly plainServices?: readonly PlainService[];
  /** Largest request message in bytes; default 262,144 (SB-53, Q24). */
  readonly readMaxBytes?: number;
  /** How long a client may take nothing of an answer before it is cut, in milliseconds; default 60,000 (SB-49). */
  readonly stallMs?: number;
  /** How long a request message may take to arrive, in milliseconds; default 30,000. */
  readonly bodyTimeoutMs?: number;
  /** Aborted at shutdown: ends the open calls of the plain services, which nothing else would end (G13). */
  readonly shutdown?: AbortSignal;
  readonly log?: { error(fields: object, message: string): void };
}
