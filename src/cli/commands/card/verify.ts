import { readFileSync } from "node:fs";
import { Command } from "commander";
import { compilePolicy, createEgressClient } from "../../../egress/index.ts";
import { createKeySource, keysOf } from "../../../service/card-key-source.ts";
import { type SignatureVerdict, verifyCard } from "../../../service/card-signing.ts";
import { printCard } from "../../../transports/v03/translate/kind/card.ts";
import { readCard } from "../../card-file.ts";
import { CliError, EXIT } from "../../exit.ts";
import { quoted } from "../../grant-text.ts";
import { type OutputOptions, printResult, table, withOutput } from "../../output.ts";
import { type NamedFile, readableFile, repeated } from "../../values.ts";

interface VerifyOptions extends OutputOptions {
  readonly keys?: readonly NamedFile[];
  readonly jkuHost?: readonly string[];
  readonly allow?: readonly string[];
  readonly ca?: readonly NamedFile[];
}

export function cardVerifyCommand(): Command {
  return withOutput(new Command("verify"))
    .description(
      "Check the signatures of a card; one good signature makes it good. Keys come from files, or from hosts that you name: what the card says of its keys proves nothing.",
    )
    .argument("<card>", "file, - for standard input, or address")
    .option("--keys <file>", "key set or JWK with public keys; may be given again", readableFile)
    .option("--jku-host <host>", "fetch keys from this host, over https, where a signature says so", repeated)
    .option(
      "--allow <cidr>",
      "the host is in a network of yours, such as 10.20.0.0/16 or 10.20.0.7/32:8443",
      repeated,
    )
    .option("--ca <file>", "PEM of an authority to trust besides the platform's", readableFile)
    .action(async (source: string, options: VerifyOptions) => {
      const verdicts = await judge(source, options);
      const good = verdicts.some(({ valid }) => valid);
      printResult(
        options.json,
        { valid: good, signatures: verdicts.map((verdict) => ({ ...verdict })) },
        () => verdictText(verdicts),
      );
      if (!good) {
        const what = verdicts.length === 0 ? "The card is not signed." : "No signature is good.";
        throw new CliError(what, EXIT.failed);
      }
    });
}

async function judge(source: string, options: VerifyOptions): Promise<readonly SignatureVerdict[]> {
  const card = printCard(await readCard(source));
  const known = (options.keys ?? []).flatMap(({ path, bytes }) => {
    try {
      return keysOf(JSON.parse(Buffer.from(bytes).toString("utf8")));
    } catch {
      throw new CliError(`${path} holds no keys.`, EXIT.usage, "Give a JSON Web Key Set.");
    }
  });
  const egress = createEgressClient({
    policy: compilePolicy({ allow: (options.allow ?? []).map(allowEntry) }),
    extraCa: (options.ca ?? []).map(({ path }) => readFileSync(path, "utf8")),
  });
  try {
    const findKey = createKeySource({ known, hosts: options.jkuHost ?? [], egress });
    return await verifyCard(card, findKey);
  } finally {
    await egress.close();
  }
}

/** `<cidr>` or `<cidr>:<port>`. */
function allowEntry(text: string): { cidr: string; ports?: number[] } {
  const [, cidr = text, port] = /^(.*\/\d+):(\d+)$/.exec(text) ?? [];
  return port === undefined ? { cidr } : { cidr, ports: [Number(port)] };
}

function verdictText(verdicts: readonly SignatureVerdict[]): string {
  const rows = verdicts.map(({ kid, algorithm, valid, reason }) => [
    quoted(kid).slice(1, -1),
    quoted(algorithm).slice(1, -1),
    valid ? "good" : reason,
  ]);
  return table([["KEY", "ALGORITHM", "SIGNATURE"], ...rows]);
}
