/** What the help of every command says after its options: examples, environment, exit codes. */
import { Command } from "commander";
import { COMMAND_VARIABLES, KEY_VARIABLES, WORK_VARIABLES } from "../config/environment.ts";
import { EXAMPLES } from "./examples.ts";
import { CliError, EXIT } from "./exit.ts";

/** docs/send-and-watch.md has the same table. */
export const EXIT_TEXTS: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.ok, "done"],
  [EXIT.failed, "what was asked for failed"],
  [EXIT.usage, "the command line, the configuration or the input is at fault"],
  [EXIT.unreachable, "the gateway cannot be reached"],
  [EXIT.denied, "the credential is not accepted or does not permit it"],
  [EXIT.interrupted, "interrupted"],
];

/** Every command below `command` that does something, with the words that call it. */
export function leaves(command: Command, path = ""): { readonly path: string; readonly command: Command }[] {
  return command.commands.flatMap((child) => {
    const here = path === "" ? child.name() : `${path} ${child.name()}`;
    const below = leaves(child, here);
    // `worker` does something, and has a command below it.
    return below.length === 0 || child.options.length > 0
      ? [{ path: here, command: child }, ...below]
      : below;
  });
}

/** Adds to the help of every command what all of them have. */
export function completeHelp(program: Command): void {
  program.helpCommand(false).addCommand(helpCommand(program));
  for (const { path, command } of leaves(program)) {
    command.addHelpText("after", () =>
      ["", examplesText(path), variablesText(path, command), exitText()].join("\n"),
    );
  }
  program.addHelpText("after", () => `\nbaton help <command> has examples of each.\n\n${exitText()}`);
}

/** Environment variables that a command reads, with what they say. */
export function variablesOf(
  path: string,
  command: Command,
): readonly (readonly [name: string, about: string])[] {
  const texts = command.options.map(({ description }) => description).join(" ");
  const named = new Set(texts.match(/BATON_[A-Z_]+/g) ?? []);
  const readsConfiguration = command.options.some(({ long }) => long === "--config");
  const forOperators = command.options.some(({ long }) => long === "--admin-url");
  if (readsConfiguration) named.add("BATON_CONFIG");
  if (forOperators)
    for (const name of ["BATON_ADMIN_TOKEN", "BATON_ADMIN_PORT", "BATON_DATA_DIR"]) named.add(name);
  if (readsConfiguration && !forOperators) for (const { name } of KEY_VARIABLES) named.add(name);
  if (path === "serve" || path === "demo" || path === "doctor") named.add("BATON_REDIS_SERVER");
  const known = [
    ...Object.entries(COMMAND_VARIABLES),
    ...KEY_VARIABLES.map(({ name, path: key }): [string, string] => [
      name,
      `sets ${key.join(".")}; or ${name}_FILE`,
    ]),
  ];
  return known.filter(([name]) => named.has(name));
}

function examplesText(path: string): string {
  const lines = (EXAMPLES[path] ?? []).map(([line, what]) => `  ${line}\n      ${what}`);
  return ["Examples:", ...lines].join("\n");
}

function variablesText(path: string, command: Command): string {
  const variables = variablesOf(path, command);
  const width = Math.max(0, ...variables.map(([name]) => name.length));
  const lines = variables.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`);
  const work = path === "worker" ? [`  set for the command of --exec: ${WORK_VARIABLES.join(", ")}`] : [];
  const all = [...lines, ...work];
  return all.length === 0 ? "" : ["\nEnvironment:", ...all, ""].join("\n");
}

function exitText(): string {
  return `Exit codes: ${EXIT_TEXTS.map(([code, meaning]) => `${code} ${meaning}`).join("; ")}.`;
}

function helpCommand(program: Command): Command {
  return new Command("help")
    .description("Show the help of a command, with examples.")
    .argument("[command...]", "the command, such as: task list")
    .action((words: readonly string[]) => {
      let command = program;
      for (const word of words) {
        const found = command.commands.find((child) => child.name() === word);
        if (found === undefined) {
          const names = command.commands.map((child) => child.name()).join(", ");
          throw new CliError(`There is no command ${words.join(" ")}.`, EXIT.usage, `There are: ${names}.`);
        }
        command = found;
      }
      command.outputHelp();
    });
}
