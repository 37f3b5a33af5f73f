import type { ErrorKind } from "../domain/errors.ts";

/** How a call ended: `ok`, or the kind of its error. */
export type Outcome = "ok" | ErrorKind;

/** One call, complete. */
export interface EndedCall {
  /** `package.Service/Method`; `_OTHER` where the request was refused before its method was known. */
  readonly method: string;
  readonly stream: boolean;
  readonly transport: string;
  /** The agent that was asked; empty where the call was refused before that was known. */
  readonly agent: string;
  /** Id of the caller's endpoint; empty where the call was refused before that was known. */
  readonly endpoint: string;
  readonly requestId: string;
  /** Id of its trace: of our span, else of the caller's `traceparent` (W3C Trace Context); absent where there is neither. */
  readonly trace?: string;
  /** Version of the protocol that it was served with. */
  readonly version: string;
  readonly outcome: Outcome;
  /** From the start of its dispatch to its answer, or to the end of its stream, in milliseconds. */
  readonly ms: number;
}

/** Is told of each call when it has ended. Must not throw and must not wait. */
export type CallObserver = (call: EndedCall) => void;

/** The method of a request that was refused before anybody knew what it asks for, in the words of OpenTelemetry. */
export const UNKNOWN_METHOD = "_OTHER";

/** Tells several observers. */
export function observers(...all: readonly (CallObserver | undefined)[]): CallObserver | undefined {
  const present = all.filter((one) => one !== undefined);
  if (present.length === 0) return undefined;
  return (call) => {
    for (const observe of present) observe(call);
  };
}
