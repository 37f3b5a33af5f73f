import { EXIT } from "./exit.ts";

/**
 * Calls `end` once, with the name of the first signal that asks a long-running command to end: SIGTERM, SIGINT (Ctrl-C)
 * or SIGHUP (its terminal was closed). Asked a second time, the process ends at once, with exit code 130.
 */
export function onEndSignal(end: (name: NodeJS.Signals) => void): void {
  let asked = false;
  const onSignal = (name: NodeJS.Signals) => {
    if (!asked) {
      asked = true;
      end(name);
      return;
    }
    // A closed terminal sends it, and the shell in it once more: nobody is impatient.
    if (name === "SIGHUP") return;
    // Whoever asks twice does not want to wait.
    process.exit(EXIT.interrupted);
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  process.on("SIGHUP", onSignal);
}
