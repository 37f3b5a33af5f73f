/** Deliveries against raw undici POSTs of the same bodies, over TLS, to the same receiver. */
import { Program } from "../processes.ts";
import type { Pushed } from "../servers/push.ts";
import { compare, median, type Row } from "./row.ts";

const TASKS_PER_SECOND = 80;
const EVENTS = 5;

export const PUSH_ROW: Row = {
  id: "push",
  async run(bench) {
    const { seconds, rounds } = bench.sizes;
    const tasks = Math.max(4, Math.round(TASKS_PER_SECOND * seconds));
    const total = tasks * EVENTS;
    const sender = await Program.start("server", "./servers/push.ts");
    try {
      const theirs: number[] = [];
      const ours: Pushed[] = [];
      for (let round = 0; round < rounds; round += 1) {
        theirs.push(await sender.call<number>("raw", total));
        await sender.call("prepare", { tasks, events: EVENTS });
        const pushed = await bench.watch(sender, () => sender.call<Pushed>("push", total));
        ours.push(pushed);
        bench.say(`push: ${pushed.perSecond.toFixed(0)}/s, raw undici ${theirs.at(-1)?.toFixed(0)}/s`);
      }
      return [
        compare({
          name: "push deliveries",
          unit: "deliveries/s",
          peerName: "undici POST",
          atLeast: 0.4,
          ours: { values: ours.map(({ perSecond }) => perSecond) },
          theirs: { values: theirs },
          also: {
            liveP50Ms: median(ours.map(({ liveP50 }) => liveP50)),
            liveP99Ms: median(ours.map(({ liveP99 }) => liveP99)),
          },
        }),
      ];
    } finally {
      await sender.stop();
    }
  },
};
