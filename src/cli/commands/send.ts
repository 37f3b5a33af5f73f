import { basename } from "node:path";
import { create, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Command } from "commander";
import {
  type Part,
  PartSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type ClientOptions, withClient, withClientOptions } from "../client-options.ts";
import { CliError, EXIT } from "../exit.ts";
import { note, printResult } from "../output.ts";
import { printStream } from "../print-stream.ts";
import { advice, exitCodeOf, messageText, taskText } from "../task-text.ts";
import { jsonValue, type NamedFile, readableFile } from "../values.ts";

interface SendOptions extends ClientOptions {
  readonly stream?: boolean;
  readonly returnImmediately?: boolean;
  readonly queue?: string;
  readonly context?: string;
  readonly task?: string;
  readonly data?: JsonValue;
  readonly file?: readonly NamedFile[];
}

export function sendCommand(): Command {
  return withClientOptions(new Command("send"))
    .description(
      "Send a message: it starts a task, or answers one with --task. Waits a while for the result.",
    )
    .argument("[text]", "what to say; `-` reads it from standard input")
    .option("--stream", "print what happens until the task ends or asks something")
    .option("--return-immediately", "do not wait for the result")
    .option("--task <id>", "the task that this message goes on with")
    .option("--context <id>", "the context that the task belongs to")
    .option("--queue <name>", "the queue that the work goes to")
    .option("--agent <name>", "the agent that it is for (default: the credential's)")
    .option("--data <json>", "add a part of JSON", jsonValue)
    .option("--file <path>", "add a part with a file; may be given again", readableFile)
    .action(send);
}

async function send(text: string | undefined, options: SendOptions): Promise<void> {
  const request = await requestOf(text, options);
  process.exitCode = await withClient(options, async (client) => {
    if (options.stream === true) {
      return printStream(client, {
        opened: client.sendStreamingMessage(request),
        endOnInput: true,
        json: options.json,
      });
    }
    const response = await client.sendMessage(request);
    const { payload } = response;
    printResult(options.json, toJson(SendMessageResponseSchema, response), () =>
      payload.case === "task" ? taskText(payload.value) : messageText(payload.value),
    );
    if (payload.case !== "task") return EXIT.ok;
    const { state } = payload.value.status ?? {};
    const next = advice(payload.value.id, state);
    if (next !== undefined) note(next);
    return exitCodeOf(state);
  });
}

async function requestOf(text: string | undefined, options: SendOptions): Promise<SendMessageRequest> {
  const parts = await partsOf(text, options);
  if (parts.length === 0) {
    throw new CliError("There is nothing to send.", EXIT.usage, "Give a text, --data or --file.");
  }
  return create(SendMessageRequestSchema, {
    tenant: options.agent ?? "",
    message: {
      messageId: crypto.randomUUID(),
      role: Role.USER,
      taskId: options.task ?? "",
      contextId: options.context ?? "",
      parts,
    },
    configuration: { returnImmediately: options.returnImmediately ?? false },
    ...(options.queue === undefined ? {} : { metadata: { queue: options.queue } }),
  });
}

async function partsOf(text: string | undefined, options: SendOptions): Promise<Part[]> {
  const parts: Part[] = [];
  const said = text === "-" ? await readAll(process.stdin) : text;
  if (said !== undefined && said !== "") {
    parts.push(create(PartSchema, { content: { case: "text", value: said } }));
  }
  if (options.data !== undefined) {
    const value = fromJson(ValueSchema, options.data);
    parts.push(create(PartSchema, { content: { case: "data", value }, mediaType: "application/json" }));
  }
  for (const { path, bytes } of options.file ?? []) {
    parts.push(create(PartSchema, { content: { case: "raw", value: bytes }, filename: basename(path) }));
  }
  return parts;
}

async function readAll(input: AsyncIterable<Buffer | string>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}
