import { Command } from "commander";
import { cardKeysCommand } from "./keys.ts";
import { cardSignCommand } from "./sign.ts";
import { cardVerifyCommand } from "./verify.ts";

export function cardCommand(): Command {
  return new Command("card")
    .description("Sign agent cards and check their signatures.")
    .addCommand(cardSignCommand())
    .addCommand(cardVerifyCommand())
    .addCommand(cardKeysCommand());
}
