import { setTimeout as sleep } from "node:timers/promises";
import { Command } from "commander";
import { onEndSignal } from "../end-signals.ts";
import { EXIT } from "../exit.ts";
import { withOutput } from "../output.ts";

/** A step that has not ended by then hangs, in milliseconds. */
const STEP_LIMIT_MS = 20_000;

export function demoCommand(): Command {
  return withOutput(new Command("demo"), "one step a line")
    .description(
      "Start everything, send messages over every binding, and check each result. Leaves nothing behind.",
    )
    .option("--openwop", "show the hand-off to an OpenWOP host instead; needs a clone of the repository")
    .action(demo);
}

interface Demo {
  readonly greeting: string;
  readonly steps: readonly { readonly name: string; run(): Promise<readonly string[]> }[];
  clear(): Promise<void>;
}

// Both are read only here, as in `serve`: they bring the whole gateway.
async function plainDemo(): Promise<Demo> {
  const { setStage } = await import("../demo/stage.ts");
  const { demoSteps } = await import("../demo/steps.ts");
  const stage = await setStage();
  return {
    greeting: `A gateway, its Redis and a worker run on ${stage.url}.`,
    steps: demoSteps(stage).map(({ name, run }) => ({ name, run: () => run(stage) })),
    clear: () => stage.clear(),
  };
}

async function openwopDemo(): Promise<Demo> {
  const { setOpenWopStage } = await import("../demo/openwop.ts");
  const stage = await setOpenWopStage();
  return { ...stage, greeting: `A run host, and a gateway before it on ${stage.url}.` };
}

async function demo(options: { readonly openwop?: boolean; readonly json?: boolean }): Promise<void> {
  const json = options.json === true;
  const say = (text: string) => (json ? undefined : process.stdout.write(`${text}\n`));
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => {});
  onEndSignal(() => stopped.reject(new Interrupted()));

  let failed = 0;
  let interrupted = false;
  const starting = options.openwop === true ? openwopDemo() : plainDemo();
  try {
    const stage = await Promise.race([starting, stopped.promise]);
    say(`${stage.greeting}\n`);
    for (const step of stage.steps) {
      const began = performance.now();
      const result = await Promise.race([step.run(), stopped.promise, tooLate()]).then(
        (lines) => ({ ok: true, lines }),
        (error: unknown) => {
          if (error instanceof Interrupted) throw error;
          return { ok: false, lines: [error instanceof Error ? error.message : String(error)] };
        },
      );
      const ms = Math.round(performance.now() - began);
      if (!result.ok) failed += 1;
      say(`${result.ok ? "ok    " : "FAILED"}  ${step.name} (${ms} ms)`);
      for (const line of result.lines) say(`          ${line}`);
      if (json) process.stdout.write(`${JSON.stringify({ step: step.name, ...result, ms })}\n`);
    }
  } catch (error) {
    interrupted = error instanceof Interrupted;
    failed += 1;
    if (!interrupted) throw error;
  } finally {
    // Also when it is still starting: nothing is to be left behind.
    await starting.then((stage) => stage.clear()).catch(() => {});
  }
  if (json) process.stdout.write(`${JSON.stringify({ ok: failed === 0, failed })}\n`);
  say(failed === 0 ? "\nEverything is as it should be." : `\n${failed} of the steps FAILED.`);
  if (failed === 0) say("To look around: run `npm run baton serve`, and open the console that it names.");
  const code = failed === 0 ? EXIT.ok : EXIT.failed;
  process.exit(interrupted ? EXIT.interrupted : code);
}

class Interrupted extends Error {}

async function tooLate(): Promise<never> {
  await sleep(STEP_LIMIT_MS, undefined, { ref: false });
  throw new Error(`not finished after ${STEP_LIMIT_MS / 1000} s`);
}
