import { Command } from "commander";
import { signCard } from "../../../service/card-signing.ts";
import { printCard } from "../../../transports/v03/translate/kind/card.ts";
import { readCard } from "../../card-file.ts";
import { type SigningKeyOptions, signingKeyOf, withSigningKey } from "../../signing-key-options.ts";

export function cardSignCommand(): Command {
  return withSigningKey(new Command("sign"))
    .description(
      "Sign a card of 1.0 and print it. Signatures that it has stay, so that a second key can be added to the first.",
    )
    .argument("<card>", "file, - for standard input, or address")
    .option("--jku <url>", "where the public key is published")
    .action(async (source: string, options: SigningKeyOptions) => {
      const signed = await signCard(await readCard(source), [signingKeyOf(options)], printCard);
      process.stdout.write(`${JSON.stringify(printCard(signed), null, 2)}\n`);
    });
}
