import { BatonError } from "../../domain/errors.ts";
import { HEAD_BYTES, tooLarge } from "./frame.ts";

/** The body of one request as it arrives; nothing of it is parsed before its size is known to be right. */
export class RequestBody {
  readonly #maxBytes: number;
  readonly #chunks: Buffer[] = [];
  readonly #timer: NodeJS.Timeout;
  #size = 0;
  #ended = false;
  #broken: BatonError | undefined;
  #reader: { resolve(body: Buffer): void; reject(reason: BatonError): void } | undefined;

  /** `maxBytes`: of the message. `timeoutMs`: how long the body may take to arrive. */
  constructor(maxBytes: number, timeoutMs: number) {
    this.#maxBytes = maxBytes;
    const late = () => this.#break(new BatonError("DeadlineExceeded", "the request took too long to arrive"));
    this.#timer = setTimeout(late, timeoutMs);
  }

  push(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes + HEAD_BYTES) this.#break(tooLarge(this.#maxBytes));
    else this.#chunks.push(chunk);
  }

  end(): void {
    this.#ended = true;
    this.drop();
    if (this.#broken === undefined) this.#reader?.resolve(this.#joined());
  }

  /** Nothing more arrives. */
  drop(): void {
    clearTimeout(this.#timer);
  }

  /** The whole body, for its one reader. Rejects with what is wrong with it; what is never asked for may be wrong. */
  whole(): Promise<Buffer> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    if (this.#ended) return Promise.resolve(this.#joined());
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }

  #break(reason: BatonError): void {
    this.drop();
    this.#broken ??= reason;
    this.#reader?.reject(this.#broken);
  }

  #joined(): Buffer {
    const [first] = this.#chunks;
    return this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks, this.#size);
  }
}
