/** The receiver of bench/push.ts, in a process of its own: counts requests and says when enough have come. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

let count = 0;
let wanted = Number.POSITIVE_INFINITY;

function check(): void {
  if (count < wanted) return;
  count -= wanted;
  wanted = Number.POSITIVE_INFINITY;
  process.send?.({ reached: true });
}

process.on("message", (message: { key: string; cert: string } | { until: number }) => {
  if ("until" in message) {
    wanted = message.until;
    check();
    return;
  }
  const server = createServer(message, (request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(204).end();
      count++;
      check();
    });
  });
  server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
});
