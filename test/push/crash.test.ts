import { describe, expect, it } from "vitest";
import { KILL_POINTS, planOf, VICTIMS } from "./crash/points.ts";
import { runCrash } from "./crash/run.ts";

// One run at each point where a process is killed, and some where Redis is. The whole matrix: npm run fault:push.
const SLICE = [0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 14];

describe("D1, OW-47 kill -9 between commit and acknowledgement", () => {
  it("the slice passes every point and both victims", () => {
    const plans = SLICE.map(planOf);
    expect(new Set(plans.map(({ point }) => point))).toEqual(new Set(KILL_POINTS));
    expect(new Set(plans.map(({ victim }) => victim))).toEqual(new Set(VICTIMS));
  });

  it.each(SLICE)("seed %i: at least once, in order, none lost", async (seed) => {
    const { faults, events } = await runCrash(planOf(seed));
    expect(faults).toEqual([]);
    expect(events).toBeGreaterThan(0);
  });
});
