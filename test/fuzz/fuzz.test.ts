/** A short, seeded slice of `npm run fuzz`, the same in every run. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { fuzz } from "./fuzz.ts";
import { inject } from "./inject.ts";
import { Breach, checkGrpc, checkJsonRpc, checkRest } from "./oracle.ts";
import { TARGETS } from "./targets.ts";
import { createWorld, type World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world?.close());

it.each(TARGETS.map((target) => [target.name, target] as const))(
  "A2A-2, A2A-160 %s: no input breaks it",
  async (_, target) => {
    await fuzz(target, world, { runs: 4_000, seed: 20_261_130 });
  },
);

it("sees what it is there to see", async () => {
  const crash = { status: 500, headers: {}, body: Buffer.from("{}") };
  expect(() => checkRest(crash)).toThrow(Breach);
  const told = { code: -32602, message: "Cannot read properties of undefined" };
  const leak = {
    status: 200,
    headers: {},
    body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, error: told })),
  };
  expect(() => checkJsonRpc(leak)).toThrow(Breach);
  const internal = { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "internal error" } };
  expect(() => checkJsonRpc({ ...leak, body: Buffer.from(JSON.stringify(internal)) })).toThrow(Breach);
  expect(() => checkGrpc(13, "internal")).toThrow(Breach);
});

it("gets answers for what is right, so that it tries more than refusals", async () => {
  const body = Buffer.from(
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "t1" } }),
  );
  const headers = { host: "h", authorization: "Bearer x", "content-type": "application/json" };
  const answer = await inject(world.handlers, { method: "POST", url: "/", headers, body });
  expect(JSON.parse(String(answer?.body)).result.id).toBe("t1");
});
