/** Many streams of server-sent events, read by a client that only counts. */
import { connect, type Socket } from "node:net";

const MARK = Buffer.from("data: ");
/** Streams that are opened at once. */
const AT_ONCE = 64;
const OPEN_WITHIN_MS = 60_000;

export interface EventSockets {
  /** Events that have come on all streams together. */
  readonly received: number;
  /** Streams that the server has ended. */
  readonly ended: number;
  close(): Promise<void>;
}

/**
 * Opens `count` streams with a whole request each and waits until every one has brought `first` events. `onEvent` gets
 * the bytes of each chunk that held events; without it they are only counted.
 */
export async function openEventSockets(options: {
  readonly port: number;
  readonly count: number;
  readonly first: number;
  request(index: number): Buffer;
  onChunk?(chunk: Buffer): void;
}): Promise<EventSockets> {
  const sockets: Socket[] = [];
  const counts = { received: 0, ended: 0 };
  let next = 0;
  const open = async () => {
    for (let index = next++; index < options.count; index = next++) {
      const socket = connect({ port: options.port, host: "127.0.0.1", noDelay: true });
      sockets.push(socket);
      await begin(socket, options, options.request(index), counts);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, open));
  } catch (error) {
    for (const socket of sockets) socket.destroy();
    throw error;
  }
  return {
    get received() {
      return counts.received;
    },
    get ended() {
      return counts.ended;
    },
    async close() {
      const closed = sockets.map((socket) => new Promise((resolve) => socket.once("close", resolve)));
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}

/** Asks for a stream; resolves when it has brought its first events. */
function begin(
  socket: Socket,
  options: { readonly first: number; onChunk?(chunk: Buffer): void },
  request: Buffer,
  counts: { received: number; ended: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    let rest: Buffer | undefined;
    let opened = false;
    let seen = 0;
    socket.on("error", reject);
    socket.setTimeout(OPEN_WITHIN_MS, () => reject(new Error("a stream did not open in time")));
    socket.on("end", () => {
      counts.ended += 1;
      reject(new Error(`the stream was refused: ${rest?.toString() ?? ""}`));
    });
    socket.on("connect", () => socket.write(request));
    socket.on("data", (chunk: Buffer) => {
      const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
      if (!opened) {
        const whole = bytes.indexOf("\r\n\r\n") >= 0;
        if (whole && bytes.toString("latin1", 9, 12) !== "200") {
          reject(new Error(`the stream was refused: ${bytes.toString()}`));
          return;
        }
        if (!whole) {
          rest = bytes;
          return;
        }
        opened = true;
      }
      const events = count(bytes);
      // A mark may be cut in two only where the chunk does not end with the end of a frame.
      rest = bytes.at(-1) === 10 ? undefined : bytes.subarray(Math.max(0, bytes.length - MARK.length + 1));
      counts.received += events;
      if (events > 0) options.onChunk?.(bytes);
      seen += events;
      if (seen < options.first) return;
      socket.setTimeout(0);
      resolve();
    });
  });
}

function count(bytes: Buffer): number {
  let events = 0;
  for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + MARK.length)) events += 1;
  return events;
}
