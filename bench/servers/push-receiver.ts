/** The receiver of the push row: counts requests over TLS and answers 204. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { ready, startedWith } from "../program.ts";

let count = 0;
let wanted = Number.POSITIVE_INFINITY;
let reached: () => void = () => {};

function check(): void {
  if (count < wanted) return;
  count -= wanted;
  wanted = Number.POSITIVE_INFINITY;
  reached();
}

/** Resolves when so many requests have come since the last time. */
function until(more: number): Promise<void> {
  return new Promise((resolve) => {
    reached = resolve;
    wanted = more;
    check();
  });
}

const server = createServer(startedWith<{ key: string; cert: string }>(), (request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(204).end();
    count += 1;
    check();
  });
});
server.listen(0, "127.0.0.1", () => ready({ port: (server.address() as AddressInfo).port }, { until }));
