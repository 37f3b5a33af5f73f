import { Command } from "commander";
import { publicKeySet } from "../../../service/card-keys.ts";
import { type SigningKeyOptions, signingKeyOf, withSigningKey } from "../../signing-key-options.ts";

export function cardKeysCommand(): Command {
  return withSigningKey(new Command("keys"))
    .description("Print the public half of a signing key as a key set, to be published.")
    .action((options: SigningKeyOptions) => {
      process.stdout.write(`${JSON.stringify(publicKeySet([signingKeyOf(options)]), null, 2)}\n`);
    });
}
