import { AsyncLocalStorage } from "node:async_hooks";
import type { SpanOptions, TraceSpan } from "./span.ts";

/** Made by the first span: without tracing nothing is ever carried along, and looking costs one comparison. */
let storage: AsyncLocalStorage<TraceSpan> | undefined;

/** The span of the call that this code runs for; undefined for background work, and where nothing is traced. */
export function activeSpan(): TraceSpan | undefined {
  return storage?.getStore();
}

/** Runs `work`, and all that it begins, for a span. */
export function runInSpan<T>(span: TraceSpan, work: () => T): T {
  storage ??= new AsyncLocalStorage();
  return storage.run(span, work);
}

/** Runs `work`, and all that it begins, for nobody: what outlives the call that happens to begin it. */
export function outsideSpans<T>(work: () => T): T {
  return storage === undefined ? work() : storage.exit(work);
}

/**
 * Runs `work` in a child of the active span and ends the child with it. `work` gets the span whose context goes along with
 * what it sends: the child; the active span itself where that is not recorded; undefined where there is none.
 */
export function inChildSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: TraceSpan | undefined) => Promise<T>,
): Promise<T> {
  const parent = activeSpan();
  return parent?.sampled === true ? inSpan(parent.start(name, options), work) : work(parent);
}

async function inSpan<T>(span: TraceSpan, work: (span: TraceSpan) => Promise<T>): Promise<T> {
  try {
    const result = await runInSpan(span, () => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end(errorType(error));
    throw error;
  }
}

/** The kind of an error in one word: its code, or the name of its class. */
function errorType(error: unknown): string {
  if (!(error instanceof Error)) return "error";
  const { kind, code } = error as { readonly kind?: unknown; readonly code?: unknown };
  if (typeof kind === "string") return kind;
  return typeof code === "string" && code !== "" ? code : error.name;
}
