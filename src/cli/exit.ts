/**
 * Exit codes and the words for errors: what happened, then what to do. docs/send-and-watch.md lists the codes.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { ConfigError } from "../config/load.ts";
import { EmbeddedRedisError } from "../redis/errors.ts";

export const EXIT = {
  ok: 0,
  /** What was asked for failed: a task that failed, a record that does not exist. */
  failed: 1,
  /** The command line, the configuration or the input is at fault. */
  usage: 2,
  unreachable: 3,
  /** The credential is not accepted, or does not permit this. */
  denied: 4,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the command with a message and a code. `advice`: what to do about it. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: ExitCode;
  readonly advice: string | undefined;

  constructor(message: string, exitCode: ExitCode, advice?: string) {
    super(message);
    this.exitCode = exitCode;
    this.advice = advice;
  }
}

/** Turns what a command threw into words and a code. */
export function explain(thrown: unknown): CliError {
  if (thrown instanceof CliError) return thrown;
  if (thrown instanceof ConfigError) {
    return new CliError(
      `The configuration cannot be used:\n  ${thrown.problems.join("\n  ")}`,
      EXIT.usage,
      "`baton config schema` prints what is allowed, `baton doctor` looks at everything else too.",
    );
  }
  if (thrown instanceof EmbeddedRedisError) return new CliError(thrown.message, EXIT.usage);
  if (thrown instanceof ConnectError) return new CliError(thrown.rawMessage, EXIT.failed);
  if (thrown instanceof Error && "code" in thrown && thrown.code === "EADDRINUSE") {
    return new CliError(
      `The port is taken: ${thrown.message}`,
      EXIT.failed,
      "Stop what listens there, or choose another with --port or --admin-port (0 takes a free one).",
    );
  }
  return new CliError(thrown instanceof Error ? thrown.message : String(thrown), EXIT.failed);
}

/** What a failed call to `url` means. `vend`: the command that makes a credential which would have been good. */
export function explainCall(thrown: unknown, url: string, vend: string): CliError {
  if (thrown instanceof CliError) return thrown;
  const error = ConnectError.from(thrown);
  const info = error.findDetails(ErrorInfoSchema)[0];
  switch (error.code) {
    case Code.Unauthenticated:
      return new CliError(`${url} does not accept the credential (${error.rawMessage}).`, EXIT.denied, vend);
    case Code.PermissionDenied:
      return new CliError(`The credential does not permit this: ${error.rawMessage}.`, EXIT.denied, vend);
    case Code.InvalidArgument: {
      const fields = error
        .findDetails(BadRequestSchema)
        .flatMap(({ fieldViolations }) => fieldViolations.map((v) => `${v.field}: ${v.description}`));
      return new CliError(`Refused: ${fields.join("; ") || error.rawMessage}`, EXIT.usage);
    }
    default:
      break;
  }
  if (info !== undefined && info.reason !== "UNAVAILABLE" && info.reason !== "STREAM_INTERRUPTED") {
    return new CliError(`${error.rawMessage} (${info.reason})`, EXIT.failed);
  }
  if (info === undefined && error.code === Code.Unimplemented) {
    return new CliError(`What listens at ${url} is not Baton.`, EXIT.unreachable, "Check the address.");
  }
  return new CliError(
    `Cannot reach ${url}: ${error.rawMessage}.`,
    EXIT.unreachable,
    "Is it running (`baton serve`)? Is the address right (--url, BATON_URL)?",
  );
}
