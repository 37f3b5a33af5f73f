/** A reader of event streams to the letter of the WHATWG specification (A2A-144, FR-37). */

export interface SseFrame {
  readonly event: string;
  readonly data: string;
  /** The last id so far; empty for none. */
  readonly id: string;
}

/** Yields each dispatched event. An unfinished event at the end of the body is dropped, as browsers do. */
export async function* readSse(body: AsyncIterable<Uint8Array>): AsyncGenerator<SseFrame> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let event = "";
  let data: string[] = [];
  let id = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (;;) {
      const line = /^([^\r\n]*)(\r\n|\n|\r(?!$))/.exec(text);
      if (line === null) break;
      text = text.slice(line[0].length);
      const content = line[1] ?? "";
      if (content === "") {
        if (data.length > 0) yield { event: event || "message", data: data.join("\n"), id };
        event = "";
        data = [];
        continue;
      }
      if (content.startsWith(":")) continue;
      const colon = content.indexOf(":");
      const field = colon < 0 ? content : content.slice(0, colon);
      const value = colon < 0 ? "" : content.slice(colon + 1).replace(/^ /, "");
      if (field === "data") data.push(value);
      else if (field === "event") event = value;
      else if (field === "id" && !value.includes("\0")) id = value;
    }
  }
}
