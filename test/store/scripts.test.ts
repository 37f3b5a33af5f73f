/** The scripts as Redis gets them: whole, and no more than what they need. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RedisConnection } from "../../src/store/connection.ts";
import { loadScripts } from "../../src/store/load-scripts.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { globalsOf } from "./lua-globals.ts";

/** What Redis gives to scripts, as far as ours use it. */
const GIVEN = new Set([
  ...["KEYS", "ARGV", "redis", "cjson", "struct", "string", "table", "math"],
  ...["ipairs", "next", "pairs", "pcall", "select", "tonumber", "tostring", "type", "unpack"],
]);

let server: TestRedis;
let redis: RedisConnection;
beforeAll(async () => {
  server = await startTestRedis();
  redis = await server.connect();
});
afterAll(async () => {
  await server?.stop();
});

/** Compiles as Redis does; an error of syntax is an error here. */
async function globals(text: string) {
  const compile = "return string.dump(assert(loadstring(ARGV[1])))";
  return globalsOf((await redis.run("k", ["EVAL", compile, "0", text])) as Buffer);
}

const scripts = loadScripts();
const named = (name: string): string => {
  const script = scripts.find((each) => each.name === name);
  if (script === undefined) throw new Error(`no script ${name}`);
  return script.text;
};

describe("a script with what is linked to it", () => {
  it.each(scripts.map(({ name, text }) => [name, text]))("%s misses no name", async (_, text) => {
    const { read, written } = await globals(text);
    expect([...read].filter((name) => !GIVEN.has(name))).toEqual([]);
    expect([...written]).toEqual([]);
  });

  it("would be told of a name that it misses, however deep", async () => {
    const text = "local function a() return function(x) y = missing(x) end end return a()";
    const { read, written } = await globals(text);
    expect([...read]).toEqual(["missing"]);
    expect([...written]).toEqual(["y"]);
  });

  it("read holds no code that writes", () => {
    expect(named("read")).toContain("task_bytes = function");
    for (const writer of ["put_artifact", "local function save", "emit", "TRANSITIONS", "'TIME'", "HSET"]) {
      expect(named("read"), writer).not.toContain(writer);
    }
  });

  it("keeps the table of transitions for those that take one", () => {
    for (const name of ["finish", "claim", "sweep"]) expect(named(name)).toContain("local TRANSITIONS = ");
    for (const name of ["list", "push_step"]) expect(named(name)).not.toContain("TRANSITIONS");
  });
});
