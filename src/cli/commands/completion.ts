import { Argument, Command } from "commander";
import { completionScript, SHELLS, type Shell } from "../completion.ts";

export function completionCommand(): Command {
  return new Command("completion")
    .description("Print the completion script of a shell.")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .action((shell: Shell, _options: object, command: Command) => {
      const { parent } = command;
      process.stdout.write(completionScript(shell, parent ?? command));
    });
}
