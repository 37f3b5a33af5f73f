import { type ChildProcess, spawn } from "node:child_process";

/**
 * Runs a program ("$@") that must not outlive whoever started this shell.
 *
 * The shell's input is a pipe that only Baton holds. It ends when Baton ends, by exit, crash or kill -9, and
 * the server is then told to stop (TERM: it writes its append-only file out). That needs no signal from the
 * dying process, no polling, and works the same on Linux, Alpine and macOS.
 */
const SUPERVISE = `
exec 3<&0
"$@" 3<&- </dev/null &
server=$!
{ while read -r _; do :; done <&3; kill -TERM "$server"; } 2>/dev/null &
watch=$!
exec 3<&-
trap 'kill -TERM "$server"' TERM INT HUP
wait "$server"
code=$?
kill "$watch" 2>/dev/null
exit "$code"
`;

/**
 * Starts a program that ends when this process ends.
 *
 * It gets a session of its own, so that Ctrl-C in a terminal reaches Baton alone, which then drains and stops
 * the server last. It does not keep this process alive.
 *
 * @param output an open file that receives all that the program prints
 */
export function spawnSupervised(program: string, args: readonly string[], output: number): ChildProcess {
  const shell = spawn("/bin/sh", ["-c", SUPERVISE, "baton-redis", program, ...args], {
    stdio: ["pipe", output, output],
    detached: true,
  });
  // The end of the shell is reported by its exit; a broken pipe to it says nothing more.
  shell.stdin?.on("error", () => {});
  shell.unref();
  return shell;
}
