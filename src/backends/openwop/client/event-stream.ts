import { eventSchema, type RunEvent } from "./answers.ts";

/** Longest single frame, in characters. */
const MAX_FRAME = 4_000_000;

/** Frame names that carry no run event. */
const OTHER_FRAMES = new Set(["state.snapshot", "ai.message.chunk"]);

/**
 * Reads run events out of the bytes of an event stream. A frame that is no event is skipped; a `batch` frame gives
 * several. Line ends may be LF, CR or CRLF, and fall anywhere between chunks.
 */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<RunEvent> {
  const decoder = new TextDecoder();
  let buffer = "";
  let name = "";
  let data: string[] = [];
  for await (const chunk of chunks) {
    buffer += decoder.decode(chunk, { stream: true });
    for (;;) {
      const end = /\r\n|\n|\r(?!$)/.exec(buffer);
      if (end === null) break;
      const line = buffer.slice(0, end.index);
      buffer = buffer.slice(end.index + end[0].length);
      if (line === "") {
        if (data.length > 0) yield* eventsOf(name, data.join("\n"));
        name = "";
        data = [];
      } else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
      else if (line.startsWith("event:")) name = line.slice(6).trim();
    }
    if (buffer.length > MAX_FRAME) throw new Error("a frame of the event stream is too long");
  }
}

function* eventsOf(name: string, text: string): Generator<RunEvent> {
  if (OTHER_FRAMES.has(name)) return;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  for (const item of Array.isArray(value) ? value : [value]) {
    const event = eventSchema.safeParse(item);
    if (event.success) yield event.data;
  }
}
