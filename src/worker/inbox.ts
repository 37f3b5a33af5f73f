import { type Message, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** The client's messages on one todo, in order, for whoever waits for one. */
export class Inbox {
  readonly #messages: { readonly message: Message; readonly position: bigint }[] = [];
  #position: bigint;
  #arrived = Promise.withResolvers<void>();

  /** `position`: of the last message that is known already. */
  constructor(position: bigint) {
    this.#position = position;
  }

  /** Position of the newest message seen. */
  get position(): bigint {
    return this.#position;
  }

  add(message: Message, position: bigint): void {
    this.#position = position;
    if (message.role !== Role.USER) return;
    this.#messages.push({ message, position });
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers();
  }

  /** The first message of the client after a position, waiting for it. Rejects with the reason of `signal`. */
  async firstAfter(position: bigint, signal: AbortSignal): Promise<Message> {
    const aborted = Promise.withResolvers<never>();
    const abort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        const found = this.#messages.find((entry) => entry.position > position);
        if (found !== undefined) return found.message;
        await Promise.race([this.#arrived.promise, aborted.promise]);
      }
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }
}
