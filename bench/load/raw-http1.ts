/** An HTTP/1.1 client that costs next to nothing, so that the server is what is measured. */
import { connect, type Socket } from "node:net";

/** One keep-alive connection; requests that are not waited for are pipelined. Understands `Content-Length`, no chunks. */
export class RawHttp1 {
  readonly #socket: Socket;
  readonly #pending: PromiseWithResolvers<Buffer>[] = [];
  #received: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    const fail = () => this.#fail(new Error("the connection was closed"));
    socket.on("error", fail);
    socket.on("close", fail);
  }

  static connect(port: number): Promise<RawHttp1> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new RawHttp1(socket));
      });
    });
  }

  /** Sends a whole request; answers the whole response, head and body. */
  call(request: Buffer): Promise<Buffer> {
    if (this.#socket.destroyed) return Promise.reject(new Error("the connection was closed"));
    const pending = Promise.withResolvers<Buffer>();
    this.#pending.push(pending);
    this.#socket.write(request);
    return pending.promise;
  }

  close(): void {
    this.#pending.length = 0;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    for (;;) {
      const end = this.#received.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = this.#received.toString("latin1", 0, end);
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      if (length === undefined) {
        this.#fail(new Error(`an answer without a length: ${head}`));
        return;
      }
      const whole = end + 4 + Number(length);
      if (this.#received.length < whole) return;
      this.#pending.shift()?.resolve(this.#received.subarray(0, whole));
      this.#received = this.#received.subarray(whole);
    }
  }

  #fail(error: Error): void {
    for (const { reject } of this.#pending.splice(0)) reject(error);
  }
}
