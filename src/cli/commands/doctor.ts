import { Command } from "commander";
import { EXIT } from "../exit.ts";
import { type OutputOptions, printResult, styled, withOutput } from "../output.ts";

interface DoctorOptions extends OutputOptions {
  readonly config?: string;
}

const MARKS = { ok: "ok     ", warning: "WARNING", fault: "FAULT  ", skipped: "skipped" } as const;
const COLOURS = { ok: "green", warning: "yellow", fault: "red", skipped: "dim" } as const;

export function doctorCommand(): Command {
  return withOutput(new Command("doctor"), "one document")
    .description(
      "Look for what would keep Baton from working well here, and say what to do. Changes nothing, and prints no secret. Exit code 1 if there is a fault.",
    )
    .option("--config <file>", "configuration file (BATON_CONFIG; default: baton.yaml, if there is one)")
    .action(doctor);
}

async function doctor(options: DoctorOptions): Promise<void> {
  // Read only here, as in `serve`: they bring half of the gateway.
  const { CHECKS } = await import("../doctor/checks.ts");
  const { examine } = await import("../doctor/examine.ts");
  const results = await examine({ file: options.config, checks: CHECKS, environment: process.env });
  const count = (outcome: string) => results.filter((result) => result.outcome === outcome).length;
  const [faults, warnings] = [count("fault"), count("warning")];
  const width = Math.max(...results.map(({ check }) => check.length));
  printResult(
    options.json,
    { ok: faults === 0, faults, warnings, results: results.map((result) => ({ ...result })) },
    () =>
      [
        ...results.flatMap(({ check, outcome, found, advice }) => [
          `${styled(COLOURS[outcome], MARKS[outcome])}  ${check.padEnd(width)}  ${found}`,
          ...(advice === undefined ? [] : [`${" ".repeat(MARKS.ok.length + 2 + width + 2)}-> ${advice}`]),
        ]),
        "",
        faults + warnings === 0
          ? "Everything is as it should be."
          : `${faults} ${faults === 1 ? "fault" : "faults"}, ${warnings} ${warnings === 1 ? "warning" : "warnings"}.`,
      ].join("\n"),
  );
  // Connections that a check gave up on must not hold the process.
  await new Promise((resolve) => process.stdout.write("", resolve));
  process.exit(faults > 0 ? EXIT.failed : EXIT.ok);
}
