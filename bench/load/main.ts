/** One measurement in a process of its own: `node bench/load/main.ts <row> <connections> <seconds> <subject JSON>`. */
import { measure } from "../measure.ts";
import { callsOf, type Row, type Subject } from "./calls.ts";

const [row, connections, seconds, subject] = process.argv.slice(2);
const calls = callsOf(row as Row, JSON.parse(subject ?? "{}") as Subject, Number(connections));
// A first call that fails says why; in the loop failures are only counted.
await calls.call();
const result = await measure(calls.call, Number(connections), Number(seconds));
await calls.close();
process.stdout.write(`${JSON.stringify(result)}\n`);
