import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";

/** Other forms of a message that nobody changes. */
interface Forms {
  readonly bytes: Uint8Array;
  /** ProtoJSON of A2A 1.0, once somebody has asked for it. */
  text?: string;
}

/** On the message itself and not in a WeakMap: that would make each message work for the garbage collector. */
const FORMS = Symbol("forms");

type Remembering = Message & { readonly [FORMS]?: Forms };

/** Remembers the wire bytes that a message was read from. From now on nobody may change it. */
export function rememberBytes(message: Message, bytes: Uint8Array): void {
  Object.defineProperty(message, FORMS, { value: { bytes } satisfies Forms });
}

/** Whether the message came from the store as it is, so that nobody changes it and others may have it, too. */
export function isShared(message: Message): boolean {
  return (message as Remembering)[FORMS] !== undefined;
}

/** The message as protobuf, from memory where it came from the store. */
export function encode(desc: DescMessage, message: Message): Uint8Array {
  return (message as Remembering)[FORMS]?.bytes ?? toBinary(desc, message);
}

/** The text of a message as `print` makes it, made once for one that came from the store. `print` must always be the same. */
export function textOf(message: Message, print: (message: Message) => string): string {
  const forms = (message as Remembering)[FORMS];
  if (forms === undefined) return print(message);
  forms.text ??= print(message);
  return forms.text;
}
