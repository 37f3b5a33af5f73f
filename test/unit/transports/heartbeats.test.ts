import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Heartbeats } from "../../../src/transports/heartbeats.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("Heartbeats", () => {
  it("A2A-142 tells of silence, again and again, and not of a stream that speaks", () => {
    const wheel = new Heartbeats(800);
    const silent = vi.fn();
    const speaking = vi.fn();
    wheel.start(silent);
    const beat = wheel.start(speaking);
    for (let ms = 0; ms < 3000; ms += 500) {
      vi.advanceTimersByTime(500);
      beat.touch();
    }
    expect(silent).toHaveBeenCalledTimes(3);
    expect(speaking).not.toHaveBeenCalled();
  });

  it("waits no less than the silence, and at most an eighth and a turn longer", () => {
    const wheel = new Heartbeats(800);
    const told = vi.fn();
    vi.advanceTimersByTime(50);
    wheel.start(told);
    vi.advanceTimersByTime(799);
    expect(told).not.toHaveBeenCalled();
    vi.advanceTimersByTime(200);
    expect(told).toHaveBeenCalledTimes(1);
  });

  it("is silent while held, and for good once stopped; the last one takes the timer with it", () => {
    const wheel = new Heartbeats(800);
    const told = vi.fn();
    const beat = wheel.start(told);
    beat.hold();
    vi.advanceTimersByTime(5000);
    expect(told).not.toHaveBeenCalled();
    beat.touch();
    vi.advanceTimersByTime(1000);
    expect(told).toHaveBeenCalledTimes(1);
    beat.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
