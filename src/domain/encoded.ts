import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";

/** The wire bytes that a message was read from; gone with the message. */
const known = new WeakMap<Message, Uint8Array>();

/** Remembers the bytes of a message that nobody changes, so that printing it again costs nothing. */
export function rememberBytes(message: Message, bytes: Uint8Array): void {
  known.set(message, bytes);
}

/** The message as protobuf, from memory where it came from the store. */
export function encode(desc: DescMessage, message: Message): Uint8Array {
  return known.get(message) ?? toBinary(desc, message);
}
