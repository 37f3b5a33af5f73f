/** What a running gateway writes about its callers. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { DRIVERS } from "../conformance/drivers.ts";
import { message } from "../scenarios/actors.ts";
import { Mortal } from "./serve.ts";

let gateway: Mortal;

beforeAll(async () => {
  gateway = await Mortal.start();
});
afterAll(() => gateway?.stop());

it("A2A-14 SB-56 no credential and no payload is logged, whatever comes of the call", async () => {
  const { vendor } = gateway;
  const [token, work, revoked] = await Promise.all([vendor.vend(), vendor.vendWorker(), vendor.vend()]);
  await vendor.revoke(revoked);
  const payload = "payload-4b1f3c";
  for (const kind of DRIVERS) {
    const peer = await gateway.peer(token, kind);
    const { id } = await peer.start(payload);
    const watch = await peer.subscribe(id);
    await watch.task();
    await gateway.worker(work).do(id, [{ artifactId: "a", parts: [{ text: payload }] }]);
    await watch.all();
    for (const refusal of [
      () => peer.with({ token: revoked }).get(id),
      () => peer.with({ token: "sbk_guess_91d0" }).get(id),
      () => peer.start(message(payload, { taskId: id })),
      () => peer.driver.malformed("garbage", peer.options),
    ]) {
      await expect(refusal()).rejects.toThrow();
    }
  }
  await gateway.terminate();
  const output = gateway.output;
  expect(output, "it does log").toContain("Baton");
  for (const secret of [token, work, revoked, "sbk_guess_91d0", payload])
    expect(output).not.toContain(secret);
});
