import { readFileSync, writeFileSync } from "node:fs";
import { Command } from "commander";
import { onEndSignal } from "../../end-signals.ts";
import { CliError, EXIT } from "../../exit.ts";
import { note, type OutputOptions, printResult, withOutput } from "../../output.ts";
import { type ReceivedPush, startReceiver } from "../../receiver/receiver.ts";
import { selfSigned } from "../../receiver/self-signed.ts";
import { port, wholeNumber } from "../../values.ts";

interface ReceiverCommandOptions extends OutputOptions {
  readonly host: string;
  readonly port: number;
  readonly cert?: string;
  readonly key?: string;
  readonly caOut: string;
  readonly token?: string;
  readonly status: number;
}

export function pushReceiverCommand(): Command {
  return withOutput(new Command("receiver"), "one push a line")
    .description(
      "Run a small TLS receiver for trials: it checks the token, tells repetitions and prints what comes.",
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <port>", "port to listen on (0: a free one)", port, 8443)
    .option("--cert <file>", "PEM certificate (default: one for localhost that is made now)")
    .option("--key <file>", "PEM key of the certificate")
    .option(
      "--ca-out <file>",
      "where to write the certificate that is made, for push.caFiles",
      "push-receiver.pem",
    )
    .option("--token <token>", "refuse pushes that do not carry it (BATON_PUSH_TOKEN)")
    .option("--status <code>", "answer every push with this status", wholeNumber(200, 599), 204)
    .action(run);
}

async function run(options: ReceiverCommandOptions): Promise<void> {
  const receiver = await startReceiver({
    ...certificate(options),
    host: options.host,
    port: options.port,
    token: options.token ?? process.env.BATON_PUSH_TOKEN,
    status: options.status,
    onPush: (push) => printResult(options.json, { ...push }, () => pushText(push)),
  });
  note(`receives pushes at ${receiver.url}`);
  await new Promise(onEndSignal);
  await receiver.close();
}

function certificate(options: ReceiverCommandOptions): { readonly key: string; readonly cert: string } {
  if ((options.cert === undefined) !== (options.key === undefined)) {
    throw new CliError("--cert and --key go together.", EXIT.usage);
  }
  if (options.cert !== undefined && options.key !== undefined) {
    return { cert: readFileSync(options.cert, "utf8"), key: readFileSync(options.key, "utf8") };
  }
  const made = selfSigned();
  writeFileSync(options.caOut, made.cert);
  note(`made a certificate for localhost; the gateway trusts it with push.caFiles: ["${options.caOut}"]`);
  return made;
}

function pushText(push: ReceivedPush): string {
  const marks = [
    push.repeated ? "repeated" : "new",
    push.authorized ? undefined : "NOT AUTHORIZED",
    `attempt ${push.attempt}`,
    `answered ${push.status}`,
  ].filter((mark) => mark !== undefined);
  return `${push.id}  ${push.kind}${push.state && ` ${push.state}`}  (${marks.join(", ")})`;
}
