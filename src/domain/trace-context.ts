/** W3C Trace Context: what of it Baton reads, keeps and sends on. */

/** A place in a trace, as its two headers say it. */
export interface TraceContext {
  /** `00-<trace id>-<span id>-<flags>`. */
  readonly traceparent: string;
  /** What vendors add, without blanks; absent: nothing. */
  readonly tracestate?: string;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x21-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;
const MAX_STATE = 512;

/**
 * Reads the headers of a request. Undefined where `traceparent` is absent or not one: then its `tracestate` means nothing
 * either. A later version is read by the part that is known, and answered in ours.
 */
export function traceContextOf(
  traceparent: string | undefined,
  tracestate?: string | undefined,
): TraceContext | undefined {
  if (traceparent === undefined) return undefined;
  const [, version, trace = "", span = "", flags = "", more] = TRACEPARENT.exec(traceparent.trim()) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (isZero(trace) || isZero(span)) return undefined;
  const state = readState(tracestate);
  return { traceparent: `00-${trace}-${span}-${flags}`, ...(state === "" ? {} : { tracestate: state }) };
}

/** Whether a text is a W3C trace context that may be kept and sent on. */
export function isTraceparent(text: string): boolean {
  return traceContextOf(text)?.traceparent === text;
}

/** The trace that a context belongs to: 32 hexadecimal digits. */
export function traceIdOf({ traceparent }: TraceContext): string {
  return traceparent.slice(3, 35);
}

/** The span that a context names: 16 hexadecimal digits. */
export function spanIdOf({ traceparent }: TraceContext): string {
  return traceparent.slice(36, 52);
}

/** Whether whoever made the context records its trace. */
export function isSampled({ traceparent }: TraceContext): boolean {
  return (Number.parseInt(traceparent.slice(53, 55), 16) & 1) === 1;
}

/** The headers to send a context with. */
export function traceHeadersOf(context: TraceContext | undefined): Readonly<Record<string, string>> {
  return context === undefined ? {} : { ...context };
}

/** Members that cannot be kept are left out; where the rest is too long, all of it is. */
function readState(text: string | undefined): string {
  if (text === undefined || text.length > 4 * MAX_STATE) return "";
  const members = text.split(",").map((member) => member.trim());
  const state = members.filter((member) => MEMBER.test(member)).join(",");
  return state.length > MAX_STATE ? "" : state;
}

function isZero(hex: string): boolean {
  return /^0+$/.test(hex);
}
