import { constants } from "node:http2";
import type { HttpResponse } from "./http-handler.ts";

/** How long a client may take nothing of an answer before it is cut, in milliseconds (A2A-95, SB-49). */
export const STALL_MS = 60_000;

/**
 * Of a longer piece only so much is written at a time, in bytes: whether a client takes anything shows by what was
 * written last being gone, and one that takes a large message slowly takes its parts.
 */
export const SLICE_BYTES = 64 * 1024;

/**
 * Cuts a response whose client has taken nothing for `stallMs` while something waits for it. The streams that its handler
 * holds are let go by that, as if the client had gone away. Answers how to stop watching.
 */
export function cutWhenStalled(response: HttpResponse, stallMs: number): () => void {
  const out = "stream" in response ? response.stream : response;
  let since: number | undefined;
  const moved = (): void => {
    since = undefined;
  };
  out.on("drain", moved);
  const timer = setInterval(
    () => {
      if (!out.writableNeedDrain) since = undefined;
      else if (since === undefined) since = Date.now();
      else if (Date.now() - since >= stallMs) cut();
    },
    Math.max(10, stallMs / 4),
  );
  timer.unref();
  const stop = (): void => {
    clearInterval(timer);
    out.off("drain", moved);
  };
  const cut = (): void => {
    stop();
    if ("stream" in response) response.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    else response.destroy();
  };
  return stop;
}
