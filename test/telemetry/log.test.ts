import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { createJsonLog, createTextLog } from "../../src/telemetry/log.ts";
import { logFields, scrub } from "../../src/telemetry/log-fields.ts";

const ENDPOINT = `sbk_${"A".repeat(43)}`;
const ADMIN = `sba_${"b-_9".repeat(11)}`;
const PICKUP = `sbp_${"C".repeat(43)}`;

function collected() {
  const lines: string[] = [];
  return { lines, output: { write: (line: string) => void lines.push(line) } };
}

describe("what a log record may hold", () => {
  it("SB-56 fields that are not listed never pass, whatever they hold", () => {
    const { lines, output } = collected();
    const log = createJsonLog("info", output);
    log.info(
      { agent: "default", request: { headers: { authorization: "x" } }, body: "secret words" },
      "call",
    );
    expect(JSON.parse(lines[0] ?? "")).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      agent: "default",
      msg: "call",
    });
  });

  it.each([
    ["an endpoint credential", ENDPOINT],
    ["the admin credential", ADMIN],
    ["a pickup token", PICKUP],
  ])("SB-56 %s passes neither in a message, a field, an error nor its cause", (_what, credential) => {
    const { lines, output } = collected();
    const log = createJsonLog("info", output);
    const cause = new Error(`refused ${credential}`);
    const error = Object.assign(new Error(`with ${credential}`, { cause }), { request: { credential } });
    log.error({ err: error, reason: `because of ${credential}`, host: credential }, `it was ${credential}`);
    const text = lines.join("");
    expect(text).not.toContain(credential);
    expect(text).not.toContain(credential.slice(4));
    expect(text).toContain("[credential]");
    expect(JSON.parse(text).err).toMatchObject({ type: "Error", message: "with [credential]" });
  });

  it.each([
    ["Authorization: Bearer abc.def-123", "abc.def-123"],
    ["bearer QWxhZGRpbjpvcGVu", "QWxhZGRpbjpvcGVu"],
    ["connect redis://user:hunter2@db:6379/0 failed", "hunter2"],
    ["jwt eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln", "eyJzdWIiOiJ4In0"],
    ['{"password":"hunter2"}', "hunter2"],
    ["POST https://x.example/?token=hunter2&a=1", "hunter2"],
  ])("SB-56 %j loses its secret", (text, secret) => {
    expect(scrub(text)).not.toContain(secret);
  });

  it("SB-56 a credential that a shortening would cut is hidden first", () => {
    const text = `${"x".repeat(1990)} redis://user:hunter2hunter2@db`;
    expect(scrub(text)).not.toContain("hunter2");
    expect(scrub("y".repeat(10_000)).length).toBeLessThan(2100);
  });

  it("leaves ordinary text as it is", () => {
    const text = "Baton listens on http://127.0.0.1:7420, for operators on http://127.0.0.1:7421";
    expect(scrub(text)).toBe(text);
  });

  it("keeps of an egress decision what operators need", () => {
    const egress = {
      allowed: false,
      arm: "address",
      reason: "address_metadata",
      host: "receiver.example",
      port: 443,
      url: "https://receiver.example/hook?key=1",
      addresses: [
        { address: "169.254.169.254", allowed: false, reason: "address_metadata", range: "x", more: 1 },
      ],
    };
    expect(logFields({ egress })).toEqual({
      egress: {
        allowed: false,
        arm: "address",
        reason: "address_metadata",
        host: "receiver.example",
        port: 443,
        addresses: [{ address: "169.254.169.254", allowed: false, reason: "address_metadata", range: "x" }],
      },
    });
  });

  it("takes an error whose cause is itself", () => {
    const error = new Error("round");
    error.cause = error;
    expect(logFields({ err: error })).toMatchObject({ err: { message: "round" } });
  });

  it("writes nothing below its level, and for people one line with what went wrong", () => {
    const stream = new PassThrough();
    const log = createTextLog("warn", stream);
    log.info({}, "quiet");
    log.error({ err: new Error(`no ${ENDPOINT}`) }, "background work failed");
    expect(String(stream.read())).toBe("error: background work failed: no [credential]\n");
  });
});
