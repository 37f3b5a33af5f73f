import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import {
  CARD_ALGORITHMS,
  type CardAlgorithm,
  parseSigningKey,
  type SigningKey,
  SigningKeyError,
} from "../service/card-keys.ts";
import { CliError, EXIT } from "./exit.ts";

export interface SigningKeyOptions {
  readonly key: string;
  readonly kid?: string;
  readonly alg?: CardAlgorithm;
  readonly jku?: string;
}

/** The options of commands that use a private key. */
export function withSigningKey(command: Command): Command {
  return command
    .requiredOption("--key <file>", "private key: PEM (PKCS #8) or JWK")
    .option("--kid <name>", "name of the key (default: the kid of a JWK)")
    .addOption(
      new Option("--alg <algorithm>", "algorithm (default: what the key is for)").choices(CARD_ALGORITHMS),
    );
}

export function signingKeyOf({ key: file, kid, alg, jku }: SigningKeyOptions): SigningKey {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new CliError(`The key cannot be read: ${file}`, EXIT.usage);
  }
  try {
    return parseSigningKey(text, { kid, algorithm: alg, jku, where: file });
  } catch (error) {
    if (error instanceof SigningKeyError) throw new CliError(error.message, EXIT.usage);
    throw error;
  }
}
