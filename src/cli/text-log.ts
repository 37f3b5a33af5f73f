import type { GatewayOptions } from "../server/gateway.ts";

/** A log for people: the message, and what went wrong with it. */
export function textLog(output: NodeJS.WritableStream): NonNullable<GatewayOptions["log"]> {
  const line = (label: string) => (fields: object, message: string) => {
    const error = "err" in fields ? fields.err : undefined;
    const cause = error === undefined ? "" : `: ${error instanceof Error ? error.message : String(error)}`;
    output.write(`${label}${message}${cause}\n`);
  };
  return { info: line(""), warn: line("warning: "), error: line("error: ") };
}
