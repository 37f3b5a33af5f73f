/** The command line of `npm run bench`. */
import { parseArgs } from "node:util";
import type { Sizes } from "./rows/row.ts";

export interface Options {
  readonly sizes: Sizes;
  readonly only: string;
  readonly json: boolean;
  readonly writeDocs: boolean;
}

/** What `--quick` stands for; single options still count. */
const QUICK = { seconds: "0.3", rounds: "1", scale: "0.002", soak: "0.05" };
const FULL = { seconds: "5", rounds: "5", scale: "1", soak: "2" };

/** Throws a TypeError on an option that is unknown or no number. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", default: "" },
      json: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      "write-docs": { type: "boolean", default: false },
      connections: { type: "string", default: "16" },
      seconds: { type: "string" },
      rounds: { type: "string" },
      scale: { type: "string" },
      soak: { type: "string" },
    },
  });
  const usual = values.quick ? QUICK : FULL;
  return {
    only: values.only,
    json: values.json,
    writeDocs: values["write-docs"],
    sizes: {
      quick: values.quick,
      connections: positive("connections", values.connections),
      seconds: positive("seconds", values.seconds ?? usual.seconds),
      rounds: positive("rounds", values.rounds ?? usual.rounds),
      scale: positive("scale", values.scale ?? usual.scale),
      soakMinutes: positive("soak", values.soak ?? usual.soak),
    },
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new TypeError(`--${name} must be a number above 0`);
  return value;
}
