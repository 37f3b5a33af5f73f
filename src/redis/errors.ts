/**
 * Why the embedded Redis could not be had:
 *
 * - `server-not-found`: no server program on this machine. The message says what to install.
 * - `bad-folder`: the data folder or the folder of the socket cannot be used safely.
 * - `folder-in-use`: another live Baton owns the data folder. Use another folder, or share one server by URL.
 * - `start-failed`: the program was found but did not come up. The message ends with its last words.
 */
export type EmbeddedRedisReason = "server-not-found" | "bad-folder" | "folder-in-use" | "start-failed";

/** The one error of this folder. Its message is written for the operator: it can be printed as it is. */
export class EmbeddedRedisError extends Error {
  override readonly name = "EmbeddedRedisError";
  readonly reason: EmbeddedRedisReason;

  constructor(reason: EmbeddedRedisReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
