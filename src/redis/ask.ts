import { connect } from "node:net";

/**
 * Sends one command to the server behind a Unix socket and returns its answer as text.
 *
 * The embedded server is asked while it starts, loads and stops. A full client would try to reconnect and
 * to shake hands at just these moments, so this is one connection, one inline command, one reply.
 *
 * @param command words without line breaks, such as `PING` or `INFO persistence`
 * @returns a simple or bulk string without its framing; "" when the server closed without answering, as it
 *   does after `SHUTDOWN`
 * @throws the socket's error (`ENOENT`, `ECONNREFUSED`: nobody listens); the server's error reply; a
 *   `TimeoutError` after `timeoutMs` milliseconds
 */
export function ask(socketPath: string, command: string, timeoutMs = 5_000): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: socketPath, signal: AbortSignal.timeout(timeoutMs) });
    let received = Buffer.alloc(0);
    socket.on("connect", () => socket.write(`${command}\r\n`));
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      const reply = readReply(received);
      if (reply === undefined) return;
      socket.destroy();
      if (reply.error) reject(new Error(reply.text));
      else resolve(reply.text);
    });
    socket.on("error", (error: Error & { cause?: unknown }) =>
      reject(error.name === "AbortError" && error.cause instanceof Error ? error.cause : error),
    );
    socket.on("close", () => resolve(""));
  });
}

function readReply(received: Buffer): { error: boolean; text: string } | undefined {
  const lineEnd = received.indexOf("\r\n");
  if (lineEnd < 0) return undefined;
  const kind = received.toString("latin1", 0, 1);
  const line = received.toString("utf8", 1, lineEnd);
  if (kind !== "$") return { error: kind === "-", text: line };
  const start = lineEnd + 2;
  const end = start + Number(line);
  return received.length < end ? undefined : { error: false, text: received.toString("utf8", start, end) };
}
