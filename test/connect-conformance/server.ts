/**
 * The server that the Connect conformance suite calls: Baton's own listener and transports before a dispatcher whose
 * handlers do what the suite's requests ask for. Started by connectconformance, which tells it over stdin what to serve.
 *
 *   node test/connect-conformance/server.ts DESCRIPTORS lean|connect-es
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { startListener } from "../../src/server/listener.ts";
import { SECURITY_HEADERS } from "../../src/server/security-headers.ts";
import { wireOf } from "../../src/transports/connect/wire.ts";
import { createConnectHandler } from "../../src/transports/connect.ts";
import { createGrpcHandler } from "../../src/transports/grpc/handler.ts";
import { anyAsStruct } from "./any-as-struct.ts";
import { AS_ANY, asStruct } from "./any-form.ts";
import type { Header } from "./shapes.ts";
import { readStart, writeStarted } from "./start.ts";
import { SuiteDispatcher } from "./suite-dispatcher.ts";

const [descriptors = "", path = "lean"] = process.argv.slice(2);
const bytes = readFileSync(descriptors);
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));
const start = await readStart(registry, process.stdin);

/** The suite wants every request header back; handlers of Baton only look up the ones that they know. */
const received = new AsyncLocalStorage<readonly Header[]>();
const headers = () => received.getStore() ?? [];
const dispatcher = new SuiteDispatcher(registry, AS_ANY, headers);
const jsonDispatcher = new SuiteDispatcher(anyAsStruct(bytes), asStruct(registry), headers);
const readMaxBytes = start.messageReceiveLimit || 16 * 1024 * 1024;
const connect = createConnectHandler({ dispatcher, readMaxBytes });
const connectJson = createConnectHandler({ dispatcher: jsonDispatcher, readMaxBytes });
const grpc = createGrpcHandler({ dispatcher, readMaxBytes, baseHeaders: SECURITY_HEADERS });

const listener = await startListener({
  host: "127.0.0.1",
  port: 0,
  handlers: [
    (request, response) => {
      const serve = wireOf(request.headers["content-type"])?.json ? connectJson : connect;
      return received.run(headersOf(request.headers), () => serve(request, response));
    },
  ],
  streamHandlers:
    path === "lean"
      ? [(stream, headers) => received.run(headersOf(headers), () => grpc(stream, headers))]
      : [],
  ...(start.useTls ? { tls: start.serverCreds } : {}),
});
process.stdout.write(
  writeStarted(registry, listener.port, start.useTls ? start.serverCreds.cert : Buffer.alloc(0)),
);

function headersOf(headers: Readonly<Record<string, string | readonly string[] | undefined>>): Header[] {
  return Object.entries(headers)
    .filter(([name]) => !name.startsWith(":"))
    .map(([name, value]) => ({ name, value: [value ?? ""].flat() }));
}
