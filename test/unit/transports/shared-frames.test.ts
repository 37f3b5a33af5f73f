import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import { StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { LogEvent } from "../../../src/store/task-log.ts";
import { SharedFrames } from "../../../src/transports/shared-frames.ts";

function logged() {
  const message = create(StreamResponseSchema, {
    payload: { case: "statusUpdate", value: { taskId: "t", contextId: "c" } },
  });
  return new LogEvent(7, Buffer.from(toBinary(StreamResponseSchema, message))).message;
}

describe("SharedFrames", () => {
  const wrap = (id: string) => (text: string) => `${id}:${text}`;

  it("prints an event once, and gives one buffer to all streams of one form", () => {
    const frames = new SharedFrames();
    const print = vi.fn(() => "{}");
    const message = logged();
    const first = frames.frame(message, "7", "1", print, wrap("1"));
    expect(first.toString()).toBe("id: 7\ndata: 1:{}\n\n");
    expect(frames.frame(message, "7", "1", print, wrap("1"))).toBe(first);
    expect(frames.frame(message, "7", "2", print, wrap("2")).toString()).toBe("id: 7\ndata: 2:{}\n\n");
    expect(print).toHaveBeenCalledTimes(1);
  });

  it("keeps a bounded number of forms", () => {
    const frames = new SharedFrames();
    const message = logged();
    for (let id = 0; id < 32; id += 1) frames.frame(message, "7", String(id), () => "{}", wrap(String(id)));
    const again = () => frames.frame(message, "7", "one more", () => "{}", wrap("one more"));
    expect(again()).not.toBe(again());
    expect(again().toString()).toContain("one more:{}");
  });

  it("keeps nothing of a message that belongs to one stream", () => {
    const frames = new SharedFrames();
    const own = create(StreamResponseSchema);
    const once = () => frames.frame(own, undefined, "1", () => "{}", wrap("1"));
    expect(once()).not.toBe(once());
    expect(once().toString()).toBe("data: 1:{}\n\n");
  });
});
