/** A gateway that takes the protocol by its letter where a version is missing. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { Peer } from "./actors.ts";
import { WireError } from "./driver.ts";
import { connectDriver, grpcWebDriver } from "./drivers/connect-client.ts";
import { connectJsonDriver } from "./drivers/connect-json.ts";
import { grpcDriver } from "./drivers/grpc.ts";
import { jsonRpcDriver } from "./drivers/jsonrpc.ts";
import { restDriver } from "./drivers/rest.ts";

describe("with versions.strict", () => {
  let gateway: TestGateway;
  let token: string;

  beforeAll(async () => {
    gateway = await startTestGateway({ versions: { strict: true } });
    token = await gateway.vend();
  });
  afterAll(() => gateway?.stop());

  it.each([grpcDriver, grpcWebDriver, connectDriver, connectJsonDriver, jsonRpcDriver, restDriver])(
    "A2A-19 no version, or a blank one, means 0.3, which a 1.0 form is not: $name",
    async (kind) => {
      const driver = await kind.connect({ url: gateway.url, authority: new URL(gateway.url).host });
      try {
        for (const version of [null, "", " "]) {
          const error = await new Peer(driver, { token, version }).start().then(
            () => undefined,
            (thrown: unknown) => thrown,
          );
          if (!(error instanceof WireError)) throw new Error(`not refused: ${String(error)}`);
          driver.checkError(error.seen, "VersionNotSupported", { bare: false });
        }
        expect((await new Peer(driver, { token }).start()).id).not.toBe("");
      } finally {
        await driver.close();
      }
    },
  );
});
