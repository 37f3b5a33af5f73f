import type { IncomingMessage, ServerResponse } from "node:http";
import type { Fault } from "./faults.ts";
import type { OpenWopHost } from "./host.ts";
import { readJson } from "./requests.ts";
import { send } from "./respond.ts";

/**
 * The test controls, for a host in a process of its own: `POST /_control/<verb>` with a JSON body.
 * `advance {runId}`, `fault <Fault>`, `clear`, `options {legacyTwins?, bareSuspensions?, cancelDelayMs?}`,
 * `cut` (event streams), `outage {ms}` (the whole listener), `a2a {major, block}`, `state` and `requests`.
 */
export async function control(
  host: OpenWopHost,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const verb = (request.url ?? "").slice("/_control/".length);
  const body = await readJson(request);
  const { engine } = host.state;
  switch (verb) {
    case "advance": {
      const run = engine.runs.get(String(body.runId));
      if (run === undefined) return send(response, 404, {});
      engine.advance(run, body.value);
      break;
    }
    case "fault":
      host.faults.add(body as unknown as Fault);
      break;
    case "clear":
      host.faults.clear();
      break;
    case "options":
      Object.assign(engine.options, body);
      break;
    case "cut":
      host.cutStreams();
      break;
    case "outage":
      send(response, 200, {});
      await host.stop();
      setTimeout(() => void host.start(), Number(body.ms ?? 200));
      return;
    case "a2a":
      host.a2a[body.major === 2 ? 2 : 1] = body.block as Record<string, unknown>;
      break;
    case "state":
      return send(response, 200, {
        created: engine.created,
        runs: [...engine.runs.values()].map((run) => ({ ...run.snapshot(), events: run.events })),
        streams: host.streams.size,
      });
    case "requests":
      return send(response, 200, host.requests);
    default:
      return send(response, 404, {});
  }
  send(response, 200, {});
}
