import { describe, expect, it } from "vitest";
import { BatonError } from "../../src/domain/errors.ts";
import { StartedStream } from "../../src/service/started-stream.ts";

interface Item {
  readonly message: number;
}

function producer(fail?: Error) {
  const state = { closed: false };
  async function* items(): AsyncGenerator<Item> {
    try {
      yield { message: 1 };
      if (fail !== undefined) throw fail;
      yield { message: 2 };
      await new Promise(() => {});
    } finally {
      state.closed = true;
    }
  }
  return { state, iterator: items() };
}

async function begin(signal: AbortSignal, fail?: Error) {
  const { state, iterator } = producer(fail);
  return { state, stream: new StartedStream<number>(await iterator.next(), iterator, signal) };
}

describe("StartedStream", () => {
  it("A2A-86 hands out the first item and all others, once", async () => {
    const { stream } = await begin(new AbortController().signal);
    expect((await stream.next()).value).toEqual({ message: 1 });
    expect((await stream.next()).value).toEqual({ message: 2 });
  });

  it("SB-48 closes its producer when nobody ever reads and the client goes away", async () => {
    const controller = new AbortController();
    const { state } = await begin(controller.signal);
    expect(state.closed).toBe(false);
    controller.abort();
    await new Promise((resolve) => setImmediate(resolve));
    expect(state.closed).toBe(true);
  });

  it("SB-48 closes it at once where the client had gone before", async () => {
    const { state } = await begin(AbortSignal.abort());
    await new Promise((resolve) => setImmediate(resolve));
    expect(state.closed).toBe(true);
  });

  it("SB-48 closes it when a reader stops, with or without having begun", async () => {
    const early = await begin(new AbortController().signal);
    await early.stream.return();
    expect(early.state.closed).toBe(true);
    expect((await early.stream.next()).done).toBe(true);

    const { state, stream } = await begin(new AbortController().signal);
    for await (const item of stream) if (item.message === 1) break;
    expect(state.closed).toBe(true);
  });

  it("A2A-160 tells a failure of its producer as one of ours", async () => {
    const { stream } = await begin(new AbortController().signal, new Error("redis://inside"));
    await stream.next();
    const failure = await stream.next().catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(BatonError);
    expect(String(failure)).not.toContain("inside");
  });
});
