/** Global names that Lua 5.1 bytecode reads and writes, as `luac -l` would list them. */
export interface Globals {
  readonly read: ReadonlySet<string>;
  readonly written: ReadonlySet<string>;
}

const HEADER_BYTES = 12;
const GETGLOBAL = 5;
const SETGLOBAL = 7;
const CONSTANT = { nil: 0, boolean: 1, number: 3, string: 4 } as const;

/** `bytecode`: what `string.dump` gives, of a Lua with 4-byte int, 8-byte size_t and double, little endian. */
export function globalsOf(bytecode: Buffer): Globals {
  const header = bytecode.subarray(0, HEADER_BYTES).toString("hex");
  if (header !== "1b4c75615100010408040800") throw new Error(`not the bytecode of this reader: ${header}`);
  const read = new Set<string>();
  const written = new Set<string>();
  let at = HEADER_BYTES;
  const byte = () => bytecode.readUInt8(at++);
  const int = () => {
    at += 4;
    return bytecode.readUInt32LE(at - 4);
  };
  const text = () => {
    const length = Number(bytecode.readBigUInt64LE(at));
    at += 8 + length;
    return bytecode.toString("latin1", at - length, Math.max(at - length, at - 1));
  };
  const times = <T>(count: number, each: () => T): T[] => Array.from({ length: count }, each);
  const constant = () => {
    const type = byte();
    if (type === CONSTANT.nil) return "";
    if (type === CONSTANT.boolean) return String(byte());
    if (type === CONSTANT.string) return text();
    if (type !== CONSTANT.number) throw new Error(`unknown constant ${type}`);
    at += 8;
    return "";
  };
  const prototype = (): void => {
    text();
    // The lines where it begins and ends; then upvalues, parameters, varargs and stack.
    at += 4 + 4 + 4;
    const code = times(int(), int);
    const constants = times(int(), constant);
    for (const instruction of code) {
      const operation = instruction & 0x3f;
      const name = constants[instruction >>> 14] ?? "";
      if (operation === GETGLOBAL) read.add(name);
      if (operation === SETGLOBAL) written.add(name);
    }
    times(int(), prototype);
    // For debuggers: lines, locals, upvalues.
    times(int(), int);
    times(int(), () => [text(), int(), int()]);
    times(int(), text);
  };
  prototype();
  if (at !== bytecode.length) throw new Error("bytecode goes on behind its end");
  return { read, written };
}
