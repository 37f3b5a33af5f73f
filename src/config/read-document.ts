/** The configuration file: read without waiting for ever, and told of without quoting it, for what is wrong may be a secret. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { parseDocument } from "yaml";

/** What no configuration is larger than, in bytes: a device or a log that is named by mistake must not fill memory. */
const MAX_BYTES = 4 * 1_048_576;
/** How long a pipe may stay empty, in milliseconds. */
const PIPE_MS = 3000;
const PIPE_PAUSE_MS = 20;

/** The mapping in a YAML file; empty for an empty file. Throws an Error whose message says why it cannot be used. */
export function readDocument(path: string): Record<string, unknown> {
  const document = parsed(readText(path));
  if (document === null || document === undefined) return {};
  if (typeof document !== "object" || Array.isArray(document)) throw new Error("(root): not a mapping");
  if (holdsItself(document, [])) throw new Error("not usable YAML: an alias stands inside its own anchor");
  return document as Record<string, unknown>;
}

/** A file's text; also that of a pipe, into which somebody writes at once. Throws an Error that says why there is none. */
export function readText(path: string): string {
  // Opening a pipe otherwise waits until somebody writes.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const isPipe = fstatSync(file).isFIFO();
    const deadline = performance.now() + PIPE_MS;
    const chunks: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(65_536);
      const read = readNow(file, chunk);
      if (read > 0) {
        chunks.push(chunk.subarray(0, read));
        bytes += read;
        if (bytes > MAX_BYTES) throw new Error(`larger than ${MAX_BYTES} bytes: no configuration`);
        continue;
      }
      // A pipe ends where its last writer goes, and seems to before the first one has come.
      if (read === 0 && (!isPipe || bytes > 0)) return Buffer.concat(chunks).toString("utf8");
      if (performance.now() > deadline) throw new Error("a pipe into which nobody writes");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PIPE_PAUSE_MS);
    }
  } finally {
    closeSync(file);
  }
}

/** Bytes that were read; 0 at the end, -1 where there is nothing yet. */
function readNow(file: number, into: Buffer): number {
  try {
    return readSync(file, into);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EAGAIN") return -1;
    throw error;
  }
}

function parsed(text: string): unknown {
  const document = parseDocument(text, { logLevel: "error" });
  // Of a tag that stands for nothing the parser only warns, and takes it out of the value.
  const [fault] = [...document.errors, ...document.warnings];
  if (fault !== undefined) throw new Error(`not YAML: ${unquoted(fault.message, fault.code)}`);
  try {
    return document.toJS();
  } catch (error) {
    throw new Error(`not YAML: ${unquoted(error instanceof Error ? error.message : String(error))}`);
  }
}

/** Messages of the parser that have words of the file in their middle; most have them at the end, behind a colon. */
const QUOTING = /^(The |Verbatim tags aren't|Unknown directive|Invalid escape|Unresolved plain)/;

/** What is wrong and where, without the words of the file that the parser quotes. */
function unquoted(message: string, code = "unreadable"): string {
  const [line = ""] = message.split("\n");
  const [, what = line, where = ""] = /^(.*?)( at line \d+, column \d+)?:?$/.exec(line) ?? [];
  const words = QUOTING.test(what) ? code.toLowerCase().replaceAll("_", " ") : what.replace(/: .*$/, "");
  return words + where;
}

/** Aliases may say the same thing twice, but nothing may hold itself: whoever walks through it would never end. */
function holdsItself(value: unknown, above: readonly object[]): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (above.includes(value)) return true;
  return Object.values(value).some((inner) => holdsItself(inner, [...above, value]));
}
