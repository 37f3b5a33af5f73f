/** `skipped`: it could not be looked at, because of a fault that is told elsewhere. */
export type Outcome = "ok" | "warning" | "fault" | "skipped";

export interface Finding {
  readonly outcome: Outcome;
  /** What was found, in one sentence. Never a secret. */
  readonly found: string;
  /** What to do about it; always there for warnings and faults. */
  readonly advice?: string;
}

export const ok = (found: string): Finding => ({ outcome: "ok", found });
export const skipped = (found: string): Finding => ({ outcome: "skipped", found });
export const warning = (found: string, advice: string): Finding => ({ outcome: "warning", found, advice });
export const fault = (found: string, advice: string): Finding => ({ outcome: "fault", found, advice });

/** What went wrong, in short, and without what was sent. */
export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && typeof error.code === "string") return error.code;
  return error.cause instanceof Error ? reason(error.cause) : error.message;
}

/** Whether an address or `localhost` stands for this machine alone. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "");
  return bare === "localhost" || bare === "::1" || /^127\./.test(bare);
}
