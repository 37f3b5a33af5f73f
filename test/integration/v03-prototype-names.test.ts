import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";

const METHODS = [
  "message/send",
  "message/stream",
  "tasks/get",
  "tasks/cancel",
  "tasks/resubscribe",
  "tasks/pushNotificationConfig/set",
  "tasks/pushNotificationConfig/get",
  "tasks/pushNotificationConfig/list",
  "tasks/pushNotificationConfig/delete",
];
const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];

let gateway: TestGateway;
let credential: string;

beforeAll(async () => {
  gateway = await startTestGateway();
  credential = await gateway.vend({ push: true });
});

afterAll(() => gateway.stop());

describe("members that every object has, in requests of 0.3 (A2A-136, A2A-176)", () => {
  it.each(METHODS)("%s names a repeated one as it was written", async (method) => {
    for (const name of NAMES) {
      const params = `{"${name}":{"x":1},"${name}":{"x":1}}`;
      const response = await fetch(gateway.url, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${credential}` },
        body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`,
      });
      const { error } = (await response.json()) as { error: { code: number; message: string } };
      expect(error.code).toBe(-32602);
      expect(error.message).toContain(name);
      expect(error.message).not.toContain("[object");
    }
  });
});
