import { describe, expect, it } from "vitest";
import { readOptions } from "../../bench/options.ts";
import { performancePage } from "../../bench/report/docs.ts";
import { bound, compare } from "../../bench/rows/row.ts";
import { selfTimes } from "../../bench/self-times.ts";
import { slopeOf } from "../../bench/slope.ts";

const comparison = { name: "work", unit: "calls/s", peerName: "peer" };

describe("the verdict of a row", () => {
  it("compares the medians", () => {
    const row = compare({
      ...comparison,
      atLeast: 2,
      ours: { values: [10, 30, 20] },
      theirs: { values: [10, 1, 100] },
    });
    expect(row).toMatchObject({ value: 20, peer: 10, ratio: 2, pass: true, spread: 1 });
  });

  it("does not let a peer that the load held up flatter us", () => {
    const ours = { values: [100], uses: [{ cpu: 1, busy: 1 }] };
    const row = (peerBusy: number) =>
      compare({
        ...comparison,
        atLeast: 0.8,
        ours,
        theirs: { values: [100], uses: [{ cpu: peerBusy, busy: peerBusy }] },
      });
    expect(row(0.95).pass).toBe(true);
    expect(row(0.5)).toMatchObject({ ratio: 1, pass: false, also: { cpuRatio: 0.5, peerBusy: 0.5 } });
  });

  it("holds a bound only where everything else held", () => {
    const input = { name: "delay", unit: "ms", atMost: 10, values: [9, 11, 8] };
    expect(bound(input).pass).toBe(true);
    expect(bound({ ...input, unless: true }).pass).toBe(false);
    expect(bound({ ...input, values: [11] }).pass).toBe(false);
  });
});

describe("slopeOf", () => {
  it("finds a line and how sure it is", () => {
    expect(slopeOf([0, 1, 2, 3].map((x) => [x, 5 + 2 * x]))).toMatchObject({ slope: 2, error: 0, mean: 8 });
    expect(slopeOf([0, 1, 2, 3].map((x) => [x, x % 2])).error).toBeGreaterThan(0.1);
  });
});

describe("selfTimes", () => {
  it("gives each function the time until the next sample, and leaves idle time out", () => {
    const frame = (functionName: string, lineNumber = 0) => ({ functionName, url: "node:net", lineNumber });
    const nodes = [
      { id: 1, callFrame: frame("(root)") },
      { id: 2, callFrame: frame("(idle)") },
      { id: 3, callFrame: frame("read", 4) },
      { id: 4, callFrame: frame("write", 9) },
      // The same function, called from elsewhere.
      { id: 5, callFrame: frame("read", 4) },
    ];
    const found = selfTimes({
      nodes,
      samples: [3, 2, 4, 5, 1],
      timeDeltas: [100, 1000, 5000, 3000, 2000],
    });
    expect(found).toEqual([
      { name: "read", place: "node:net:5", ms: 3, share: 0.5 },
      { name: "write", place: "node:net:10", ms: 3, share: 0.5 },
    ]);
  });
});

describe("the options", () => {
  it("let single ones count beside --quick", () => {
    expect(readOptions(["--quick", "--rounds", "3"]).sizes).toMatchObject({ quick: true, rounds: 3 });
    expect(() => readOptions(["--seconds", "soon"])).toThrow("--seconds must be a number above 0");
  });
});

describe("docs/performance.md", () => {
  it("holds the machine, the table, and a profile of what fell short", () => {
    const short = compare({ ...comparison, atLeast: 2, ours: { values: [1] }, theirs: { values: [1] } });
    const page = performancePage({
      machine: { cpu: "CPU", cores: 2, memoryGiB: 4, node: "v24.0.0", redis: "7.0.0", placement: "apart" },
      sizes: readOptions([]).sizes,
      ofRow: new Map([["work", [short]]]),
      profiles: new Map([
        ["work", { file: "work.cpuprofile", top: [{ name: "read", place: "a.ts:1", ms: 1, share: 0.25 }] }],
      ]),
    });
    expect(page).toContain("0 of 1 targets are met");
    expect(page).toContain("| work | 1 calls/s | 1 calls/s (peer) | 1 | at least 2 x | short | 0 % |");
    expect(page).toContain("### work\n");
    expect(page).toContain("| 25.0 % | `read` | `a.ts:1` |");
  });
});
