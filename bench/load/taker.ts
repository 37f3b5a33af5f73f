/** Who waits for the answer of a raw client. One object may take any number of answers, one after another. */
export interface Taker {
  /** The answer are these bytes of a buffer that belongs to the client: they are gone when this returns. */
  answered(bytes: Buffer, from: number, to: number): void;
  failed(error: Error): void;
}

/** The answer as bytes of its own, for callers to whom a promise is not too much. */
export function promised(send: (taker: Taker) => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    send({
      answered: (bytes, from, to) => resolve(Buffer.from(bytes.subarray(from, to))),
      failed: reject,
    });
  });
}
