import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../../gen/google/rpc/error_details_pb.js";

/** An error in an operator's words. */
export interface Failure {
  readonly text: string;
  /** What to do about it, where there is more to say than the text. */
  readonly advice?: string;
  /** Which field of the request was wrong, and how. */
  readonly fields: readonly { readonly field: string; readonly text: string }[];
  /** The gateway could not be asked; what was shown before may be old. */
  readonly unreachable: boolean;
}

const ADVICE: Partial<Record<Code, string>> = {
  [Code.PermissionDenied]: "You are signed in as a person who may not do this. The admin credential may.",
  [Code.Unimplemented]: "This gateway is older than the console, or the service is not part of it.",
};

export function failureOf(error: unknown): Failure {
  const connect = ConnectError.from(error);
  // A fetch that did not get through is no answer of the gateway's: connect-web says Unknown or Unavailable.
  const unreachable = [Code.Unavailable, Code.DeadlineExceeded].includes(connect.code) || isNetwork(connect);
  const fields = connect
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations)
    .map(({ field, description }) => ({ field, text: description }));
  const advice = ADVICE[connect.code];
  return {
    text: unreachable ? "The gateway cannot be reached." : sentence(connect.rawMessage),
    fields,
    unreachable,
    ...(advice === undefined ? {} : { advice }),
  };
}

/** What is wrong with one field, or undefined. `nextRunAt`, `next_run_at` and `scope.next_run_at` are the same. */
export function fieldFault(failure: Failure | undefined, name: string): string | undefined {
  const plain = (text: string) => text.replaceAll("_", "").toLowerCase();
  return failure?.fields.find(({ field }) => {
    const last = field.split(".").at(-1) ?? field;
    return plain(last.replace(/\[.*$/, "")) === plain(name);
  })?.text;
}

function isNetwork({ code, cause }: ConnectError): boolean {
  return (code === Code.Unknown || code === Code.Internal) && cause instanceof TypeError;
}

function sentence(text: string): string {
  const trimmed = text.trim() || "It failed without a reason";
  const first = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
