import type { Socket } from "node:net";

/** The first line of the HTTP/2 connection preface. No HTTP/1.1 request can begin so: PRI is reserved for it. */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

export type CleartextProtocol = "h1" | "h2";

/**
 * Reads just enough of a new cleartext connection to tell HTTP/2 with prior knowledge from HTTP/1.1, puts the bytes
 * back and reports. The preface may arrive byte by byte; the first byte that differs decides for HTTP/1.1, whose
 * parser then judges what is no HTTP at all. A connection that says too little for `timeoutMs` is destroyed.
 *
 * The socket is paused when `decided` runs, so that whoever takes it loses nothing.
 */
export function sniff(
  socket: Socket,
  timeoutMs: number,
  decided: (protocol: CleartextProtocol) => void,
): void {
  let seen: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const finish = (): void => {
    clearTimeout(timer);
    socket.off("data", onData);
    socket.off("end", onEnd);
    socket.off("close", onEnd);
  };
  const onEnd = (): void => {
    finish();
    socket.destroy();
  };
  const onData = (chunk: Buffer): void => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, PREFACE.length);
    const same = seen.compare(PREFACE, 0, length, 0, length) === 0;
    if (same && length < PREFACE.length) return;
    finish();
    socket.pause();
    socket.unshift(seen);
    decided(same ? "h2" : "h1");
  };
  socket.on("data", onData);
  socket.on("end", onEnd);
  socket.on("close", onEnd);
}
