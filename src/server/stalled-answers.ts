import type { ServerResponse } from "node:http";
import { constants, type Http2ServerResponse, type ServerHttp2Stream } from "node:http2";
import type { LeanAnswer } from "./lean-http1/answer.ts";

/** What an answer is written to, in each of its forms. */
export type Answering = ServerResponse | Http2ServerResponse | ServerHttp2Stream | LeanAnswer;

/** How often is looked in the time that a client may take nothing. */
const LOOKS = 4;

/**
 * Cuts answers that are complete here and of which their client takes nothing for `stallMs`: each holds its bytes in memory,
 * and nothing else would ever end it (SB-49). What takes its bytes slowly is served on. Streams that go on are watched by
 * those who write them. A timer for each answer would cost every call; here only those that are not gone when somebody
 * looks get one. Answers how to stop.
 */
export function cutStalledAnswers(open: { values(): Iterable<Answering> }, stallMs: number): () => void {
  const watched = new WeakSet<Answering>();
  const look = (): void => {
    for (const answer of open.values()) {
      const out = "stream" in answer ? answer.stream : answer;
      // Of a stream that is gone, HTTP/2 leaves its response without one.
      if (out === undefined || !out.writableEnded || out.writableFinished || watched.has(answer)) continue;
      watched.add(answer);
      // Node counts bytes that go out as activity, of a large write, too.
      out.setTimeout(stallMs, () => cut(out));
    }
  };
  const timer = setInterval(look, Math.max(10, stallMs / LOOKS)).unref();
  return () => clearInterval(timer);
}

function cut(out: ServerResponse | ServerHttp2Stream | LeanAnswer): void {
  if (out.writableFinished) return;
  if ("rstCode" in out) out.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  else out.destroy();
}
