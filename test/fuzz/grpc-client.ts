import { type ClientHttp2Session, connect } from "node:http2";

export interface GrpcAnswer {
  readonly http: number;
  readonly status: number | undefined;
  readonly message: string;
}

/** Sends raw bytes as gRPC calls over one HTTP/2 session, as no generated client would. */
export class RawGrpc {
  readonly #url: string;
  #session: ClientHttp2Session;

  constructor(url: string) {
    this.#url = url;
    this.#session = this.#open();
  }

  #open(): ClientHttp2Session {
    const session = connect(this.#url);
    // A session that the server ends is opened again; a call that it took along fails by itself.
    session.on("error", () => {});
    return session;
  }

  call(path: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<GrpcAnswer> {
    if (this.#session.closed || this.#session.destroyed) this.#session = this.#open();
    const stream = this.#session.request({ ":method": "POST", ":path": path, te: "trailers", ...headers });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no answer within 30 s")), 30_000);
      let head: Record<string, unknown> = {};
      let trailers: Record<string, unknown> = {};
      stream.on("response", (received) => {
        head = received;
      });
      stream.on("trailers", (received) => {
        trailers = received;
      });
      stream.on("error", (error) => {
        clearTimeout(timer);
        reject(error);
      });
      stream.on("close", () => {
        clearTimeout(timer);
        const status = trailers["grpc-status"] ?? head["grpc-status"];
        resolve({
          http: Number(head[":status"]),
          status: status === undefined ? undefined : Number(status),
          message: String(trailers["grpc-message"] ?? head["grpc-message"] ?? ""),
        });
      });
      stream.resume();
      stream.end(body);
    });
  }

  close(): void {
    this.#session.destroy();
  }
}
