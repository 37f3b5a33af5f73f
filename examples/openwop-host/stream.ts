import type { ServerResponse } from "node:http";
import type { Fault } from "./faults.ts";
import type { Run, RunEvent } from "./run.ts";

const KEEP_ALIVE_MS = 10_000;

function frame(event: RunEvent): string {
  return `id: ${event.sequence}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Streams the events after `after`, and ends after the run's last one. */
export function streamEvents(
  run: Run,
  after: number,
  response: ServerResponse,
  faults: { readonly cut: Fault | undefined; readonly twice: Fault | undefined },
): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.flushHeaders();
  let sent = 0;
  let closed = false;
  const timer = setInterval(() => response.write(": keep-alive\n\n"), KEEP_ALIVE_MS);
  const close = () => {
    closed = true;
    clearInterval(timer);
    run.changed.off("event", send);
  };
  function send(event: RunEvent): void {
    if (closed) return;
    if (faults.cut !== undefined && sent >= (faults.cut.frames ?? 0)) {
      close();
      response.destroy();
      return;
    }
    response.write(frame(event));
    if (faults.twice !== undefined) response.write(frame(event));
    sent++;
    if (["run.completed", "run.failed", "run.cancelled"].includes(event.type) && run.terminal) {
      close();
      response.end();
    }
  }
  response.on("close", close);
  for (const event of run.events.slice(after + 1)) send(event);
  if (closed) return;
  if (run.terminal) {
    close();
    response.end();
  } else run.changed.on("event", send);
}

/** The answer of the poll route: at once if there is something, else when there is, at most `seconds` later. */
export async function pollEvents(run: Run, after: number, seconds: number): Promise<Record<string, unknown>> {
  if (run.lastSequence <= after && !run.terminal) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, seconds * 1000);
      function done(): void {
        clearTimeout(timer);
        run.changed.off("event", done);
        resolve();
      }
      run.changed.on("event", done);
    });
  }
  return {
    runId: run.id,
    events: run.events.slice(after + 1),
    lastSequence: run.lastSequence,
    status: run.status,
    isTerminal: run.terminal,
  };
}
