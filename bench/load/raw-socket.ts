/** A connection below the raw clients: reads into one buffer again and again, and makes no stream of what it reads. */
import { connect, type Socket } from "node:net";

const READ_BYTES = 2 ** 16;

export interface RawSocketEvents {
  /** Bytes that have come: the first `length` of a buffer that the next read fills again. */
  read(bytes: Buffer, length: number): void;
  closed(): void;
}

export function connectRaw(port: number, events: RawSocketEvents): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const socket = connect({
      port,
      host: "127.0.0.1",
      noDelay: true,
      onread: {
        buffer,
        callback(length) {
          events.read(buffer, length);
          return true;
        },
      },
    });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      socket.on("error", () => events.closed());
      socket.on("close", () => events.closed());
      resolve(socket);
    });
  });
}
