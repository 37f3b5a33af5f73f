import { fromBinary } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { rememberBytes } from "../domain/encoded.ts";
import type { RedisConnection, Reply } from "./connection.ts";

/** Pages of the log when a gap is filled. */
const READ_COUNT = 500;

/** One event of a task log. The message is decoded once for all subscribers of this process. */
export class LogEvent {
  readonly seq: number;
  readonly bytes: Buffer;
  #message: StreamResponse | undefined;

  constructor(seq: number, bytes: Buffer) {
    this.seq = seq;
    this.bytes = bytes;
  }

  /** Shared: never change it. */
  get message(): StreamResponse {
    if (this.#message === undefined) {
      this.#message = fromBinary(StreamResponseSchema, this.bytes);
      rememberBytes(this.#message, this.bytes);
    }
    return this.#message;
  }
}

/** Every event after `after`. */
export async function readLog(redis: RedisConnection, taskKey: string, after: number): Promise<LogEvent[]> {
  const events: LogEvent[] = [];
  for (;;) {
    const page = await readPage(redis, taskKey, events.at(-1)?.seq ?? after, undefined, READ_COUNT);
    events.push(...page);
    if (page.length < READ_COUNT) return events;
  }
}

/** At most `count` events after `after`, up to `last`. */
export async function readPage(
  redis: RedisConnection,
  taskKey: string,
  after: number,
  last: number | undefined,
  count: number,
): Promise<LogEvent[]> {
  const to = last === undefined ? "+" : `${last}-0`;
  const range = ["XRANGE", `${taskKey}:log`, `${after + 1}-0`, to, "COUNT", String(count)];
  const reply = await redis.run(taskKey, range);
  return (Array.isArray(reply) ? reply : []).map(eventOf);
}

function eventOf(entry: Reply): LogEvent {
  if (!Array.isArray(entry)) throw new Error("unexpected entry in a task log");
  const [id, fields] = entry;
  const bytes = Array.isArray(fields) ? fields[1] : undefined;
  if (!Buffer.isBuffer(bytes)) throw new Error("unexpected entry in a task log");
  return new LogEvent(Number.parseInt(String(id), 10), bytes);
}
