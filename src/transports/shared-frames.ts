import type { Message } from "@bufbuild/protobuf";
import { isShared } from "../domain/encoded.ts";
import { encodeSse } from "./sse.ts";

/** Forms of one event that are kept; JSON-RPC has one for each request id that its watchers chose. */
const KEPT = 32;

interface Printed {
  readonly text: string;
  readonly frames: Map<string, Buffer>;
}

/**
 * The events of streams as they go out: printed once, and kept as one buffer for all watchers of a task. What belongs to
 * one stream alone, such as the task at its beginning, is not kept. Goes with the event.
 */
export class SharedFrames {
  readonly #printed = new WeakMap<Message, Printed>();

  /**
   * `print` gives the JSON of the message and must not depend on who watches; `wrap` puts it into what `key` stands for.
   */
  frame(
    message: Message,
    id: string | undefined,
    key: string,
    print: (message: Message) => string,
    wrap: (text: string) => string,
  ): Buffer {
    if (!isShared(message)) return sseFrame(wrap(print(message)), id);
    let printed = this.#printed.get(message);
    if (printed === undefined) {
      printed = { text: print(message), frames: new Map() };
      this.#printed.set(message, printed);
    }
    const known = printed.frames.get(key);
    if (known !== undefined) return known;
    const frame = sseFrame(wrap(printed.text), id);
    if (printed.frames.size < KEPT) printed.frames.set(key, frame);
    return frame;
  }
}

function sseFrame(data: string, id: string | undefined): Buffer {
  return Buffer.from(encodeSse(id === undefined ? { data } : { data, id }));
}

/** The frames of each binding: the same event reads differently in each. */
export class FramesOf<Binding extends object> {
  readonly #frames = new WeakMap<Binding, SharedFrames>();

  get(binding: Binding): SharedFrames {
    let frames = this.#frames.get(binding);
    if (frames === undefined) {
      frames = new SharedFrames();
      this.#frames.set(binding, frames);
    }
    return frames;
  }
}
