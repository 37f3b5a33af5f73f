import fc from "fast-check";
import type { Target } from "./targets.ts";
import type { World } from "./world.ts";

/** Inputs that are under way at once. */
const BATCH = 32;

export interface FuzzOptions {
  readonly runs: number;
  readonly seed: number;
}

/**
 * Feeds a target with that many inputs. Rejects with the seed and the shrunken input at the first that does what none
 * may: an answer that tells of a failure of ours, none at all, or an error that nobody handled.
 */
export async function fuzz(target: Target, world: World, options: FuzzOptions): Promise<void> {
  const session = target.open(world);
  const strays: unknown[] = [];
  const note = (reason: unknown): void => void strays.push(reason);
  process.on("unhandledRejection", note);
  process.on("uncaughtException", note);
  try {
    const property = fc.asyncProperty(
      fc.array(target.inputs, { minLength: BATCH, maxLength: BATCH }),
      async (inputs) => {
        const outcomes = await Promise.allSettled(inputs.map((input) => session.run(input)));
        const failed = outcomes.findIndex(({ status }) => status === "rejected");
        const outcome = outcomes[failed];
        if (outcome?.status === "rejected") {
          const { reason } = outcome;
          throw new Error(`${target.name}: ${String(reason)}: ${shown(inputs[failed])}`, { cause: reason });
        }
        if (strays.length > 0)
          throw new Error(`${target.name}: an error that nobody handled`, { cause: strays.shift() });
      },
    );
    await fc.assert(property, {
      numRuns: Math.ceil(options.runs / BATCH),
      seed: options.seed,
      includeErrorInReport: true,
      endOnFailure: true,
    });
  } finally {
    process.off("unhandledRejection", note);
    process.off("uncaughtException", note);
    session.close();
  }
}

function shown(input: unknown): string {
  return JSON.stringify(input, (_, value) => {
    const buffer = value as { type?: unknown; data?: unknown } | null;
    return buffer?.type === "Buffer" ? Buffer.from(buffer.data as number[]).toString("latin1") : value;
  });
}
