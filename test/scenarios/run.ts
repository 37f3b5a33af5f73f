import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VendOptions } from "../gateway.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { Peer, TestWorker, workerTransport } from "./actors.ts";
import { type Driver, type DriverKind, WireError } from "./driver.ts";
import { GATEWAY, runsOn, type World } from "./scenario.ts";
import { TABLE } from "./table/index.ts";

/** A Redis that is not ours needs a key of the operator's for push credentials. */
const SECRET_KEY = Buffer.alloc(32, 7).toString("base64");

/**
 * Runs every scenario that the transport can express, against one gateway. `redis` starts another kind of Redis for it
 * and answers the configuration that reaches it; `config` is laid over that of the gateway.
 */
export function runTable(
  kind: DriverKind,
  redis?: () => Promise<Record<string, unknown>>,
  config: Record<string, unknown> = {},
): void {
  describe(kind.name, () => {
    let gateway: TestGateway;
    let driver: Driver;

    beforeAll(async () => {
      const push = { ...GATEWAY.push, ...(redis === undefined ? {} : { secretKey: SECRET_KEY }) };
      gateway = await startTestGateway({ ...GATEWAY, push, ...(await redis?.()), ...config });
      driver = await kind.connect({ url: gateway.url, authority: new URL(gateway.url).host });
    });
    afterAll(async () => {
      await driver?.close();
      await gateway?.stop();
    });

    const entries = TABLE.filter((entry) => runsOn(entry, kind));
    it.each(entries.map((entry) => [entry.name, entry] as const))("%s", async (_, entry) => {
      await entry.run(await worldOf(kind, driver, gateway));
    });
  });
}

async function worldOf(asked: DriverKind, driver: Driver, gateway: TestGateway): Promise<World> {
  const queues = ["default", "deploys"];
  const peer = async (options?: VendOptions) => new Peer(driver, { token: await gateway.vend(options) });
  const workerOf = async (options?: VendOptions) =>
    new TestWorker(workerTransport(gateway.url, await gateway.vendWorker(options)));
  const [alice, bob, worker] = await Promise.all([peer(), peer(), workerOf({ queues })]);
  return {
    kind: asked,
    driver,
    gateway,
    alice,
    bob,
    worker,
    peer,
    workerOf,
    has: (...features) => features.every((feature) => asked.features.has(feature)),
    async refused(call, kind, { fields, metadata, bare = false } = {}) {
      const outcome = await call.then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      );
      if ("value" in outcome) throw new Error(`expected ${kind}, but the call went through`);
      const { error } = outcome;
      if (!(error instanceof WireError)) throw error;
      driver.checkError(error.seen, kind, { bare });
      const whole = asked.features.has("error-data");
      if (fields !== undefined) {
        const named = error.seen.violations.map(({ field }) => field);
        if (whole) expect(named.sort()).toEqual([...fields].sort());
        else expect(fields, "the text begins with a wrong field").toContain(named[0]);
        for (const { description } of error.seen.violations) expect(description).not.toBe("");
      }
      if (metadata !== undefined && whole) expect(error.seen.metadata).toMatchObject(metadata);
      return error.seen;
    },
  };
}
