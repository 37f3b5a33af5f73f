import { createSocket } from "node:dgram";
import { parseAddress } from "../../src/egress/index.ts";

/** What the server says for one name; CNAME chains are followed as a recursive resolver does, in one answer. */
export interface Zone {
  readonly a?: readonly string[];
  readonly aaaa?: readonly string[] | "fail" | "silent";
  readonly cname?: string;
  /** The whole name: no answer at all, a server failure, or a refusal. */
  readonly fault?: "silent" | "fail" | "refuse";
}

const TYPE = { a: 1, cname: 5, aaaa: 28 } as const;

/** A real DNS server on UDP, on loopback. */
export async function startNameServer(zones: Readonly<Record<string, Zone>>) {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const { name, type, end } = readQuestion(query);
    asked.push(`${name} ${type === TYPE.aaaa ? "AAAA" : "A"}`);
    const records: Buffer[] = [];
    let at = name;
    let zone = zones[at];
    for (; zone?.cname !== undefined; at = zone.cname, zone = zones[at]) {
      records.push(record(at, TYPE.cname, labels(zone.cname)));
    }
    const data = type === TYPE.aaaa ? zone?.aaaa : zone?.a;
    if (zone?.fault === "silent" || data === "silent") return;
    const failed = zone?.fault === "fail" || data === "fail";
    const code = zone === undefined ? 3 : zone.fault === "refuse" ? 5 : failed ? 2 : 0;
    for (const address of Array.isArray(data) && code === 0 ? (data as string[]) : []) {
      records.push(record(at, type, Buffer.from(parseAddress(address) ?? [])));
    }
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | code, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), from.port, from.address);
  });
  await new Promise<void>((done) => socket.bind(0, "127.0.0.1", done));
  return {
    asked,
    address: `127.0.0.1:${socket.address().port}`,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((done) => socket.close(done));
    },
  };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const parts: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    parts.push(query.toString("ascii", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: parts.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function labels(name: string): Buffer {
  const parts = name.split(".").map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]));
  return Buffer.concat([...parts, Buffer.of(0)]);
}

function record(name: string, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt32BE(1, 4);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([labels(name), head, data]);
}
