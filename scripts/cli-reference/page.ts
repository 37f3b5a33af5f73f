import type { Argument, Command, Option } from "commander";
import { CHECKS } from "../../src/cli/doctor/checks.ts";
import { EXAMPLES } from "../../src/cli/examples.ts";
import { EXIT_TEXTS, leaves, variablesOf } from "../../src/cli/help.ts";
import { createProgram } from "../../src/cli/program.ts";
import { COMMAND_VARIABLES, KEY_VARIABLES } from "../../src/config/environment.ts";

/** The page about every command, option and variable. */
export function cliReference(): string {
  const program = createProgram();
  const commands = leaves(program);
  const parts = [
    "<!-- Written by npm run docs:cli from the program. Change the program, not this page. -->",
    "# The command line",
    `${program.description()} \`baton help <command>\` and \`baton <command> --help\` say what stands here.`,
    toc(commands.map(({ path }) => path)),
    OUTPUT,
    "## Exit codes",
    table(
      ["code", "meaning"],
      EXIT_TEXTS.map(([code, meaning]) => [String(code), meaning]),
    ),
    "## Environment",
    "For each variable that sets a key, `<name>_FILE` may name a file that holds the value.",
    table(
      ["variable", "what it is"],
      [
        ...KEY_VARIABLES.map(({ name, path }) => [code(name), `sets \`${path.join(".")}\``]),
        ...Object.entries(COMMAND_VARIABLES).map(([name, about]) => [code(name), about]),
        ["`NO_COLOR`", "no colours, also on a terminal"],
      ],
    ),
    "## Completion",
    COMPLETION,
    "## Commands",
    ...commands.map(({ path, command }) => section(path, command)),
  ];
  return `${parts.join("\n\n")}\n`;
}

const OUTPUT = `## Output

Commands that print records take \`--output json\` (or \`--json\`) and \`--output table\`, the default. JSON is one document on one
line; what comes as a stream (\`send --stream\`, \`task watch\`, \`worker\`, \`push receiver\`, \`demo\`) is one document a line.
Results go to standard output, everything else to standard error. Colours and lines that change in place are for terminals
only.`;

const COMPLETION = `\`\`\`sh
source <(baton completion bash)                                  # bash: add it to ~/.bashrc
baton completion zsh > ~/.zfunc/_baton                           # zsh: a folder of $fpath
baton completion fish > ~/.config/fish/completions/baton.fish    # fish
\`\`\``;

function section(path: string, command: Command): string {
  const help = command.createHelp();
  const args = command.registeredArguments.map((argument: Argument) => [
    code(argument.name()),
    prose(argument.description),
  ]);
  const options = help
    .visibleOptions(command)
    .filter(({ long }) => long !== "--help")
    .map((option) => [code(option.flags), optionText(option)]);
  const variables = variablesOf(path, command).map(([name]) => code(name));
  const examples = (EXAMPLES[path] ?? []).map(([line, what]) => `# ${what}\n${line}`);
  return [
    `### baton ${path}`,
    prose(command.description()),
    `    baton ${path} ${command.usage()}`,
    ...(args.length > 0 ? [table(["argument", "what it is"], args)] : []),
    ...(options.length > 0 ? [table(["option", "what it does"], options)] : []),
    ...(path === "doctor"
      ? [
          table(
            ["check", "good when"],
            CHECKS.map(({ name, about }) => [name, prose(about)]),
          ),
        ]
      : []),
    ...(variables.length > 0 ? [`Environment: ${variables.join(", ")}.`] : []),
    `\`\`\`sh\n${examples.join("\n\n")}\n\`\`\``,
  ].join("\n\n");
}

function optionText(option: Option): string {
  const { argChoices, description, defaultValue } = option;
  const choices = argChoices === undefined ? "" : ` One of ${argChoices.map(code).join(", ")}.`;
  // What --no-... switches off is on by itself; that is no value that somebody would write.
  const shown = defaultValue !== undefined && typeof defaultValue !== "boolean";
  return `${prose(description)}${shown ? ` (default: ${String(defaultValue)})` : ""}${choices === "" ? "" : `.${choices}`}`;
}

function toc(paths: readonly string[]): string {
  return paths.map((path) => `[${path}](#baton-${path.replaceAll(" ", "-")})`).join(" · ");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}

/** For a page, where angle brackets outside of code would be HTML, and a bar in a table would end the cell. */
function prose(text: string): string {
  const parts = text.replaceAll("|", "\\|").split("`");
  return parts.map((part, index) => (index % 2 === 0 ? part.replaceAll("<", "&lt;") : part)).join("`");
}
