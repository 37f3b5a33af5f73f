/** What connectconformance says over stdin and hears over stdout: one message each, after its length in four bytes. */
import type { Readable } from "node:stream";
import { create, type FileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import { messageOf, type Start } from "./shapes.ts";

export async function readStart(registry: FileRegistry, input: Readable): Promise<Start> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of input) {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length < 4 || bytes.length < 4 + bytes.readUInt32BE(0)) continue;
    const message = fromBinary(messageOf(registry, "ServerCompatRequest"), bytes.subarray(4));
    const { useTls, messageReceiveLimit, serverCreds } = message as unknown as Partial<
      Omit<Start, "serverCreds">
    > & { readonly serverCreds?: { readonly cert: Uint8Array; readonly key: Uint8Array } };
    return {
      useTls: useTls ?? false,
      messageReceiveLimit: messageReceiveLimit ?? 0,
      serverCreds: {
        cert: Buffer.from(serverCreds?.cert ?? []),
        key: Buffer.from(serverCreds?.key ?? []),
      },
    };
  }
  throw new Error("stdin ended before it said what to serve");
}

export function writeStarted(registry: FileRegistry, port: number, pemCert: Uint8Array): Buffer {
  const schema = messageOf(registry, "ServerCompatResponse");
  const answer = create(schema, { host: "127.0.0.1", port, pemCert } as Record<string, unknown>);
  const bytes = toBinary(schema, answer);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  return Buffer.concat([head, bytes]);
}
