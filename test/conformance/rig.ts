import type { TestGateway, VendOptions } from "../gateway.ts";
import { Peer, TestWorker, workerTransport } from "../scenarios/actors.ts";
import { type Driver, type DriverKind, type SeenError, WireError } from "../scenarios/driver.ts";

/** Opens a driver on a gateway. */
export function connect(kind: DriverKind, gateway: TestGateway): Promise<Driver> {
  return kind.connect({ url: gateway.url, authority: new URL(gateway.url).host });
}

/** A worker of an agent's queues. */
export async function workerOf(gateway: TestGateway, options?: VendOptions): Promise<TestWorker> {
  return new TestWorker(workerTransport(gateway.url, await gateway.vendWorker(options)));
}

/** A client with an endpoint of its own. */
export async function peerOf(driver: Driver, gateway: TestGateway, options?: VendOptions): Promise<Peer> {
  return new Peer(driver, { token: await gateway.vend(options) });
}

/** What the client sees of a call that must be refused. */
export async function refusal(call: Promise<unknown>): Promise<SeenError> {
  try {
    await call;
  } catch (thrown) {
    if (thrown instanceof WireError) return thrown.seen;
    throw thrown;
  }
  throw new Error("the call went through");
}
