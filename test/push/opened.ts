import { afterEach } from "vitest";
import { type PushReceiver, startPushReceiver } from "./receiver.ts";
import { type PushRig, startRig } from "./rig.ts";

/** What a test has opened, closed after it, the latest first. */
export const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

export async function rigOf(...args: Parameters<typeof startRig>): Promise<PushRig> {
  const rig = await startRig(...args);
  open.push({ close: () => rig.stop() });
  return rig;
}

export async function receiver(...args: Parameters<typeof startPushReceiver>): Promise<PushReceiver> {
  const made = await startPushReceiver(...args);
  open.push(made);
  return made;
}
