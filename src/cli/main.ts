#!/usr/bin/env node
/**
 * The `baton` command. Each command is a file in `commands/`.
 *
 * @module
 */
import { CommanderError } from "commander";
import { onLostTerminal } from "../telemetry/lost-terminal.ts";
import { EXIT, explain } from "./exit.ts";
import { note } from "./output.ts";
import { createProgram } from "./program.ts";

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // Whoever reads our output may have had enough of it (`baton task list | head`).
  if (error.code === "EPIPE") process.exit(EXIT.ok);
  onLostTerminal(error);
});
process.stderr.on("error", onLostTerminal);

try {
  await createProgram().parseAsync();
} catch (thrown) {
  if (thrown instanceof CommanderError) {
    // It has printed its message already; help and version are no errors.
    process.exitCode = thrown.exitCode === 0 ? EXIT.ok : EXIT.usage;
  } else {
    const { message, advice, exitCode } = explain(thrown);
    note(`baton: ${message}`);
    if (advice !== undefined) note(advice);
    process.exitCode = exitCode;
  }
}
