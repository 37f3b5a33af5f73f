import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { BinaryReader } from "@bufbuild/protobuf/wire";

/** One span as a collector received it. */
export interface ReceivedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root of a trace. */
  readonly parentId: string;
  readonly tracestate: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** Trace and span ids with a dash between. */
  readonly links: readonly string[];
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number;
}

export interface Collector {
  /** For `telemetry.traces.otlpUrl`. */
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** Headers of the requests, oldest first. */
  readonly requests: NodeJS.Dict<string | string[]>[];
  /** All that came in, as text: for what must not be in it. */
  text(): string;
  /** Resolves with the spans once they satisfy `ready`; rejects after `ms`. */
  until(ready: (spans: readonly ReceivedSpan[]) => boolean, ms?: number): Promise<readonly ReceivedSpan[]>;
  close(): Promise<void>;
}

/** An OTLP/HTTP collector on the loopback interface: takes protobuf bodies at `/v1/traces` and nothing else. */
export async function startCollector(port = 0): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const requests: NodeJS.Dict<string | string[]>[] = [];
  const bodies: Buffer[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const isTraces = request.method === "POST" && request.url === "/v1/traces";
      if (!isTraces || request.headers["content-type"] !== "application/x-protobuf") {
        response.writeHead(404).end();
        return;
      }
      const raw = Buffer.concat(chunks);
      const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw;
      requests.push(request.headers);
      bodies.push(body);
      spans.push(...readRequest(body));
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${bound}`,
    spans,
    requests,
    text: () => Buffer.concat(bodies).toString("latin1"),
    async until(ready, ms = 15_000) {
      for (const end = Date.now() + ms; !ready(spans); await new Promise((next) => setTimeout(next, 20))) {
        if (Date.now() > end) {
          throw new Error(
            `the spans did not come: ${spans.map((span) => `${span.service} ${span.name}`).join("; ")}`,
          );
        }
      }
      return spans;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

type Field = (reader: BinaryReader) => void;

/** Reads a message by field number; fields without a reader are skipped. */
function read(bytes: Uint8Array, fields: Readonly<Record<number, Field>>): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const take = fields[field];
    if (take === undefined) reader.skip(type, field);
    else take(reader);
  }
}

/** opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest. */
function readRequest(bytes: Uint8Array): ReceivedSpan[] {
  const spans: ReceivedSpan[] = [];
  read(bytes, {
    1: (request) => {
      const found: ReceivedSpan[] = [];
      const resource: Record<string, string | number | boolean> = {};
      read(request.bytes(), {
        1: (group) => read(group.bytes(), { 1: (attribute) => readAttribute(attribute.bytes(), resource) }),
        2: (group) => read(group.bytes(), { 2: (span) => found.push(readSpan(span.bytes())) }),
      });
      spans.push(...found.map((span) => ({ ...span, service: String(resource["service.name"]) })));
    },
  });
  return spans;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function readSpan(bytes: Uint8Array): ReceivedSpan {
  const attributes: Record<string, string | number | boolean> = {};
  const links: string[] = [];
  const span = { traceId: "", spanId: "", tracestate: "", parentId: "", name: "", kind: 0, status: 0 };
  read(bytes, {
    1: (field) => {
      span.traceId = hex(field.bytes());
    },
    2: (field) => {
      span.spanId = hex(field.bytes());
    },
    3: (field) => {
      span.tracestate = field.string();
    },
    4: (field) => {
      span.parentId = hex(field.bytes());
    },
    5: (field) => {
      span.name = field.string();
    },
    6: (field) => {
      span.kind = field.int32();
    },
    9: (field) => readAttribute(field.bytes(), attributes),
    13: (field) => {
      const link = { traceId: "", spanId: "" };
      read(field.bytes(), {
        1: (id) => {
          link.traceId = hex(id.bytes());
        },
        2: (id) => {
          link.spanId = hex(id.bytes());
        },
      });
      links.push(`${link.traceId}-${link.spanId}`);
    },
    15: (field) =>
      read(field.bytes(), {
        3: (code) => {
          span.status = code.int32();
        },
      }),
  });
  return { service: "", ...span, attributes, links };
}

function readAttribute(bytes: Uint8Array, into: Record<string, string | number | boolean>): void {
  let key = "";
  let value: string | number | boolean = "";
  read(bytes, {
    1: (field) => {
      key = field.string();
    },
    2: (field) =>
      read(field.bytes(), {
        1: (text) => {
          value = text.string();
        },
        2: (flag) => {
          value = flag.bool();
        },
        3: (whole) => {
          value = Number(whole.int64());
        },
        4: (number) => {
          value = number.double();
        },
      }),
  });
  into[key] = value;
}
