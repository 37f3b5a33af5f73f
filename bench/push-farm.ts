/** The receivers of bench/push-isolation.ts, in a process of their own. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

interface Orders {
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly healthy?: number;
  readonly hanging?: number;
  readonly expect?: number;
}

let arrivals: [id: string, at: number][] = [];
let expected = Number.POSITIVE_INFINITY;

function check(): void {
  if (arrivals.length < expected) return;
  process.send?.({ arrivals });
  arrivals = [];
  expected = Number.POSITIVE_INFINITY;
}

async function listen(tls: Orders["tls"], answer: boolean): Promise<number> {
  const server = createServer(tls ?? {}, (request, response) => {
    request.resume();
    if (!answer) return;
    const id = String(request.headers["a2a-notification-id"]).split("/")[0] ?? "";
    arrivals.push([id, Date.now()]);
    request.on("end", () => response.writeHead(204).end());
    check();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

process.on("message", async (orders: Orders) => {
  if (orders.expect !== undefined) {
    expected = orders.expect;
    check();
    return;
  }
  const open = (count: number, answer: boolean) =>
    Promise.all(Array.from({ length: count }, () => listen(orders.tls, answer)));
  process.send?.({
    good: await open(orders.healthy ?? 0, true),
    bad: await open(orders.hanging ?? 0, false),
  });
});
