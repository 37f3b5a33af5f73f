import { createHash } from "node:crypto";
import { HostError } from "./engine.ts";

export interface StoredAnswer {
  readonly status: number;
  readonly body: unknown;
}

interface Entry {
  readonly bodyHash: string;
  answer: StoredAnswer | undefined;
}

/** Answers by (tenant, operation, key). Answers that a client may retry are never kept. */
export class IdempotencyCache {
  readonly #entries = new Map<string, Entry>();

  async once(
    scope: string,
    key: string | undefined,
    body: unknown,
    work: () => StoredAnswer | Promise<StoredAnswer>,
  ): Promise<StoredAnswer & { readonly replayed: boolean }> {
    if (key === undefined) return { ...(await work()), replayed: false };
    const id = `${scope} ${key}`;
    const bodyHash = createHash("sha256").update(JSON.stringify(body)).digest("hex");
    const known = this.#entries.get(id);
    if (known !== undefined) {
      if (known.bodyHash !== bodyHash) {
        throw new HostError(409, "idempotency_key_mismatch", "the key was used with another body");
      }
      if (known.answer === undefined) throw new HostError(409, "idempotency_in_flight", "still running");
      return { ...known.answer, replayed: true };
    }
    const entry: Entry = { bodyHash, answer: undefined };
    this.#entries.set(id, entry);
    try {
      entry.answer = await work();
      return { ...entry.answer, replayed: false };
    } catch (error) {
      this.#entries.delete(id);
      throw error;
    }
  }
}
