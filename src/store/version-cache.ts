interface Entry<T> {
  /** Of the record that the value shows. */
  readonly version: string;
  readonly value: T;
  readonly bytes: number;
  /** Since it was last looked at for room. */
  used: boolean;
}

/** What an entry costs besides its content, roughly. */
const ENTRY_BYTES = 1024;

/**
 * What was read last of many records; those that nobody has asked for since room was last made go first. Never an answer by itself: the store is asked each
 * time whether the version is still the one of the record.
 */
export class VersionCache<T> {
  readonly #limit: number;
  readonly #entries = new Map<string, Entry<T>>();
  #bytes = 0;

  /** `limit`: how much memory it may take, in bytes. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: string): Entry<T> | undefined {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.used = true;
    return entry;
  }

  /** `size`: how much memory the value takes, in bytes. One that is large against the whole cache is not kept. */
  set(key: string, version: string, value: T, size: number): void {
    this.delete(key);
    const bytes = ENTRY_BYTES + size;
    if (bytes > this.#limit / 8) return;
    this.#entries.set(key, { version, value, bytes, used: false });
    this.#bytes += bytes;
    // Those that were used go to the end, where they are met again with their mark taken off.
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#limit) return;
      this.#entries.delete(oldest);
      if (entry.used || oldest === key) {
        entry.used = false;
        this.#entries.set(oldest, entry);
      } else this.#bytes -= entry.bytes;
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }
}
