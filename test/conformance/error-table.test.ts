/** Both editions of the protocol's error table, side by side in one gateway, on every binding (A2A-158). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ErrorKind, type ErrorTable, errorRow, GRPC_CODE } from "../../src/domain/errors.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { message, type Peer, type TestWorker } from "../scenarios/actors.ts";
import type { Driver, SeenError } from "../scenarios/driver.ts";
import { DRIVERS } from "./drivers.ts";
import { connect, peerOf, refusal, workerOf } from "./rig.ts";

const EDITIONS: readonly ErrorTable[] = ["1.0.1", "1.0.0"];

let gateway: TestGateway;

beforeAll(async () => {
  const agent = (errorTable: ErrorTable) => ({
    errorTable,
    cancelOnTerminal: "error",
    card: { extensions: errorTable === "1.0.1" ? [] : [{ uri: "urn:optional" }] },
  });
  gateway = await startTestGateway({
    agents: { "1.0.1": agent("1.0.1"), "1.0.0": agent("1.0.0") },
    defaultAgent: "1.0.1",
    push: { enabled: false },
  });
});
afterAll(() => gateway?.stop());

/** The rows of the table in the words of each edition, as the specification has them and not as the code does. */
const ROWS: Partial<Record<ErrorKind, Record<ErrorTable, readonly [grpc: number, http: number]>>> = {
  TaskNotFound: { "1.0.1": [5, 404], "1.0.0": [5, 404] },
  TaskNotCancelable: { "1.0.1": [9, 400], "1.0.0": [9, 409] },
  PushNotificationNotSupported: { "1.0.1": [9, 400], "1.0.0": [12, 400] },
  UnsupportedOperation: { "1.0.1": [9, 400], "1.0.0": [12, 400] },
  ContentTypeNotSupported: { "1.0.1": [3, 400], "1.0.0": [3, 415] },
  VersionNotSupported: { "1.0.1": [9, 400], "1.0.0": [12, 400] },
  InvalidParams: { "1.0.1": [3, 400], "1.0.0": [3, 400] },
};

const CODES: Partial<Record<ErrorKind, number>> = {
  TaskNotFound: -32001,
  TaskNotCancelable: -32002,
  PushNotificationNotSupported: -32003,
  UnsupportedOperation: -32004,
  ContentTypeNotSupported: -32005,
  VersionNotSupported: -32009,
  InvalidParams: -32602,
};

/** How each kind comes about. */
const CAUSES: Partial<Record<ErrorKind, (peer: Peer, worker: TestWorker) => Promise<unknown>>> = {
  TaskNotFound: (peer) => peer.get("never-was"),
  async TaskNotCancelable(peer, worker) {
    const { id } = await peer.start();
    await worker.do(id);
    return peer.cancel(id);
  },
  PushNotificationNotSupported: (peer) =>
    peer.call("CreateTaskPushNotificationConfig", { taskId: "x", url: "https://hook.example" }),
  async UnsupportedOperation(peer, worker) {
    const { id } = await peer.start();
    await worker.do(id);
    return peer.subscribe(id);
  },
  ContentTypeNotSupported: (peer) =>
    peer.start(message("", { parts: [{ raw: "aGk=", mediaType: "application/x-unsupported" }] })),
  VersionNotSupported: (peer) => peer.with({ version: "99.0" }).start(),
  InvalidParams: (peer) => peer.get("x", { historyLength: -1 }),
};

describe.each(DRIVERS.map((kind) => [kind.name, kind] as const))("%s", (name, kind) => {
  let driver: Driver;
  beforeAll(async () => {
    driver = await connect(kind, gateway);
  });
  afterAll(() => driver?.close());

  describe.each(EDITIONS)("edition %s", (edition) => {
    it.each(Object.keys(ROWS) as ErrorKind[])("A2A-152, A2A-158, A4, A5 %s has its codes", async (cause) => {
      const agent = edition;
      const peer = await peerOf(driver, gateway, { agent });
      const worker = await workerOf(gateway, { agent });
      const seen = await refusal(CAUSES[cause]?.(peer, worker) ?? Promise.resolve());
      const [grpc, http] = ROWS[cause]?.[edition] ?? [];
      expect(seen.reason).toBe(errorRow(cause).reason);
      expect(codesOf(seen, name)).toEqual(
        name === "rest" ? [http] : name === "jsonrpc" ? [CODES[cause]] : [grpc],
      );
    });
  });
});

function codesOf({ wire }: SeenError, name: string): unknown[] {
  if (name === "rest") return [wire.http];
  return name === "jsonrpc" ? [wire.jsonrpc] : [wire.grpc ?? GRPC_CODE[statusName(wire.status)]];
}

/** Connect writes the code in lower case. */
function statusName(status: string | undefined): keyof typeof GRPC_CODE {
  return String(status).toUpperCase() as keyof typeof GRPC_CODE;
}
