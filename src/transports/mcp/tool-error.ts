import { BatonError, type ErrorKind, type FieldViolation } from "../../domain/errors.ts";

/** The error codes of tools (todo-delegation.md 4.2). */
export type ToolErrorCode =
  | "unauthenticated"
  | "forbidden"
  | "conflict"
  | "not_found"
  | "invalid_argument"
  | "invalid"
  | "ceiling_exceeded"
  | "internal";

const CODES: Partial<Record<ErrorKind, ToolErrorCode>> = {
  Unauthenticated: "unauthenticated",
  Forbidden: "forbidden",
  Conflict: "conflict",
  AlreadyExists: "conflict",
  NotFound: "not_found",
  TaskNotFound: "not_found",
  RouteNotFound: "not_found",
  InvalidParams: "invalid_argument",
  InvalidRequest: "invalid_argument",
  ContentTypeNotSupported: "invalid_argument",
  UnsupportedOperation: "invalid_argument",
  RateLimited: "ceiling_exceeded",
  TaskTooLarge: "ceiling_exceeded",
};

/** `code: message`, the one line that a failed tool call answers. */
export function toolErrorText(error: BatonError): string {
  const violations = error.violations.map(inToolWords);
  const message =
    violations.length === 0
      ? error.message
      : violations.map(({ field, description }) => `${field}: ${description}`).join("; ");
  return `${codeOf(error)}: ${message}`;
}

function codeOf(error: BatonError): ToolErrorCode {
  // The handlers' check of an attempt's artifact reference has a code of its own.
  const [violation, ...others] = error.violations;
  const ofReference = violation?.field === "artifact" && others.length === 0;
  if (error.kind === "InvalidParams" && ofReference) return "invalid";
  return CODES[error.kind] ?? "internal";
}

/** A handler names the field of its request; the tool's caller knows the parameter. */
function inToolWords({ field, description }: FieldViolation): FieldViolation {
  const name = field.replace(/^metadata\./, "").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { field: name, description };
}

/** What zod found, as a violation for each parameter. */
export function argumentViolations(
  issues: readonly {
    readonly code?: string | undefined;
    readonly path: readonly PropertyKey[];
    readonly message: string;
    readonly keys?: readonly string[];
  }[],
): FieldViolation[] {
  return issues.flatMap((issue) => {
    const path = issue.path.map(String).join(".");
    if (issue.code !== "unrecognized_keys")
      return [{ field: path || "arguments", description: issue.message }];
    return (issue.keys ?? []).map((key) => ({
      field: path === "" ? key : `${path}.${key}`,
      description: "is not a parameter of this tool",
    }));
  });
}

/** The error of arguments that do not fit the tool, before any handler saw them. */
export function invalidArguments(violations: readonly FieldViolation[]): BatonError {
  return new BatonError("InvalidRequest", "the arguments do not fit the tool", { violations });
}
