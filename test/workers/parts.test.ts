import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Restarts } from "../../src/server/workers/restarts.ts";
import { Surveys } from "../../src/server/workers/survey.ts";
import { Totals } from "../../src/server/workers/totals.ts";
import { Watchdog } from "../../src/server/workers/watchdog.ts";
import { mergeFamilies, type Sample } from "../../src/telemetry/exposition.ts";
import { logOfWorker } from "../../src/telemetry/log.ts";
import { createMetrics, printMetrics } from "../../src/telemetry/metrics.ts";

describe("restarts of workers", () => {
  it("wait longer after each short life, and give up on a crash loop", () => {
    const restarts = new Restarts();
    const pauses = Array.from({ length: 8 }, () => restarts.died(1000));
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 6400, undefined]);
  });

  it("forget short lives after a long one", () => {
    const restarts = new Restarts();
    for (let i = 0; i < 5; i += 1) restarts.died(1000);
    expect(restarts.died(60_000)).toBe(100);
    expect(restarts.died(1000)).toBe(100);
  });
});

describe("the watchdog", () => {
  function watch(answer: (watchdog: Watchdog) => void) {
    const seen = { asked: 0, silent: 0 };
    const watchdog: Watchdog = new Watchdog({
      everyMs: 10,
      misses: 3,
      ask: () => {
        seen.asked += 1;
        answer(watchdog);
      },
      onSilent: () => {
        seen.silent += 1;
      },
    });
    return { seen, watchdog };
  }

  it("tells once of a worker that answers none of several questions, and asks it no more", async () => {
    const { seen } = watch(() => {});
    await sleep(200);
    expect(seen).toEqual({ asked: 3, silent: 1 });
  });

  it("says nothing of one that answers each, or at least the last that it may", async () => {
    const each = watch((watchdog) => watchdog.heard());
    const last = watch((watchdog) => {
      if (last.seen.asked % 3 === 0) watchdog.heard();
    });
    await sleep(200);
    expect(each.seen.silent + last.seen.silent).toBe(0);
    expect(last.seen.asked).toBeGreaterThan(3);
    each.watchdog.stop();
    last.watchdog.stop();
    const { asked } = each.seen;
    await sleep(50);
    expect(each.seen.asked).toBe(asked);
  });
});

describe("surveys", () => {
  it("answer null for a worker that is gone and for one that says nothing", async () => {
    const surveys = new Surveys(50);
    const answering = {
      send: ({ id }: { id: number }) => setImmediate(() => surveys.take(id, ["shutting down"])),
    };
    const silent = { send: () => {} };
    expect(await surveys.ask("readiness", [answering, undefined, silent])).toEqual([
      { worker: 1, value: ["shutting down"] },
      { worker: 2, value: null },
      { worker: 3, value: null },
    ]);
  });
});

describe("metrics of several processes", () => {
  it("are summed, but for what all of them tell alike and what holds only if it holds everywhere", () => {
    const family = (name: string, value: number, merge?: "first" | "min") => ({
      name,
      help: name,
      type: "gauge" as const,
      samples: [{ labels: { agent: "a" }, value }],
      ...(merge === undefined ? {} : { merge }),
    });
    const of = (value: number) => [
      family("streams", value),
      family("todos", value, "first"),
      family("ready", value, "min"),
    ];
    const merged = mergeFamilies([of(3), of(1), of(2)]);
    expect(merged.map(({ samples }) => samples[0]?.value)).toEqual([6, 3, 1]);
  });

  it("are one series, whether a process says that it has no labels or says nothing, and in whatever order", () => {
    const of = (...samples: Sample[]) => [{ name: "sent", help: "sent", type: "counter" as const, samples }];
    const merged = mergeFamilies([
      of({ value: 1 }, { labels: { agent: "a", place: "lane" }, value: 10 }),
      of({ labels: {}, value: 2 }, { labels: { place: "lane", agent: "a" }, value: 20 }),
    ]);
    expect(merged[0]?.samples.map(({ value }) => value)).toEqual([3, 30]);
  });

  it("add up histograms of calls, and keep one line for what is running", async () => {
    const counting = (calls: number) => {
      const metrics = createMetrics({ version: "1.2.3", extra: async () => [], onError: () => {} });
      for (let i = 0; i < calls; i += 1) {
        metrics.observeCall({
          method: "GetTask",
          transport: "grpc",
          outcome: "ok",
          stream: false,
          ms: 2,
        } as Parameters<typeof metrics.observeCall>[0]);
      }
      return metrics.snapshot();
    };
    const text = await printMetrics([await counting(2), await counting(3)]);
    expect(text).toMatch(/^rpc_server_call_duration_seconds_count\{.*GetTask.*\} 5$/m);
    expect(text.match(/^baton_build_info\{.*\} 1$/gm)).toHaveLength(1);
  });
});

describe("totals of workers", () => {
  const told = (sent: number, open: number) => ({
    own: [],
    extra: [
      { name: "sent", help: "sent", type: "counter" as const, samples: [{ value: sent }] },
      { name: "open", help: "open", type: "gauge" as const, samples: [{ value: open }] },
    ],
  });

  it("keep what a worker counted when it ends, and forget what it held", async () => {
    const totals = new Totals();
    const line = async (name: string) =>
      (await printMetrics(totals.all())).match(new RegExp(`^${name} (\\d+)$`, "m"))?.[1];
    totals.told(0, told(10, 1));
    totals.told(1, told(20, 2));
    expect([await line("sent"), await line("open")]).toEqual(["30", "3"]);
    for (let life = 0; life < 3; life += 1) {
      const adding = totals.ended(0);
      expect(await line("sent"), "at no time it falls").toBe(String(30 + 10 * life));
      await adding;
      expect([await line("sent"), await line("open")]).toEqual([String(30 + 10 * life), "2"]);
      totals.told(0, told(10, 1));
    }
    expect(totals.all(), "of any number that ended, one snapshot").toHaveLength(3);
  });

  it("keep what prom-client counted, too", async () => {
    const totals = new Totals();
    for (let life = 1; life <= 3; life += 1) {
      const metrics = createMetrics({ version: "1.2.3", extra: async () => [], onError: () => {} });
      metrics.observeSweep({ agent: "a", changed: 5, ms: 1, failed: false });
      totals.told(0, await metrics.snapshot());
      await totals.ended(0);
      const text = await printMetrics(totals.all());
      expect(text).toContain(`baton_sweep_changes_total{agent="a"} ${5 * life}\n`);
      expect(text).toContain(`baton_sweep_duration_seconds_count ${life}\n`);
      expect(text).not.toContain("nodejs_heap_size_used_bytes");
    }
  });
});

describe("the log of a worker", () => {
  it("tells which worker wrote a record", () => {
    const records: object[] = [];
    const keep = (fields: object) => void records.push(fields);
    logOfWorker({ debug: keep, info: keep, warn: keep, error: keep }, 3).warn({ status: 1 }, "text");
    expect(records).toEqual([{ status: 1, worker: 3 }]);
  });
});
