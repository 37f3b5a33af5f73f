/** For errors of an output: what cannot be said to a terminal that was closed must not keep anybody from ending in good order. */
export function onLostTerminal(error: NodeJS.ErrnoException): void {
  if (error.code !== "EIO") throw error;
}
