import type { CallObserver, EndedCall, Outcome } from "./calls.ts";
import type { Log } from "./log.ts";

/** Outcomes that are the gateway's or its back end's fault, so that somebody should look. */
const FAULTS: ReadonlySet<Outcome> = new Set(["Internal", "Unavailable", "InvalidAgentResponse"]);

/**
 * Writes a line for each call: of all, or of the faults alone. The caller's name stays out; its endpoint id is what
 * `baton endpoint get` takes.
 */
export function logCalls(log: Pick<Log, "info" | "warn">, which: "all" | "errors"): CallObserver {
  return (call) => {
    const fault = FAULTS.has(call.outcome);
    if (!fault && which === "errors") return;
    const { outcome, ms, ...rest } = call;
    const fields = { ...rest, kind: outcome, ms: Math.round(ms * 10) / 10 };
    log[fault ? "warn" : "info"](fields, textOf(call));
  };
}

function textOf({ method, transport, agent, outcome, ms }: EndedCall): string {
  const of = agent === "" ? "" : ` of ${agent}`;
  return `${method.slice(method.lastIndexOf(".") + 1)}${of} by ${transport}: ${outcome}, ${Math.round(ms)} ms`;
}
