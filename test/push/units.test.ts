import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  type MessageSchema,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { parseConfig } from "../../src/config/load.ts";
import { isTraceparent } from "../../src/domain/trace-context.ts";
import { EgressDenied, EgressFailed } from "../../src/egress/index.ts";
import { retryDelay } from "../../src/push/backoff.ts";
import { referencesOf, taskReferencesOf } from "../../src/push/content.ts";
import { Destinations } from "../../src/push/destinations.ts";
import { PushMetrics } from "../../src/push/metrics.ts";
import { judgeError, judgeResponse, readRetryAfter } from "../../src/push/outcome.ts";
import { makeSecretKey, readSecretKey, SecretBox, SecretKeyError } from "../../src/push/secret-box.ts";

const POLICY = { attempts: 6, baseMs: 2000, capMs: 300_000, retryAfterCapMs: 3_600_000 };
const DECISION = { allowed: true, arm: "address", reason: "allowed", host: "h", port: 443 } as const;

describe("retry policy", () => {
  it("Q16, OW-47 waits 2 s doubling to 5 min, and stops after six attempts", () => {
    const bounds = [1, 2, 3, 4, 5, 6].map((attempt) => retryDelay(POLICY, attempt, undefined, () => 1));
    expect(bounds).toEqual([2000, 4000, 8000, 16_000, 32_000, undefined]);
    expect(retryDelay({ ...POLICY, attempts: 99 }, 20, undefined, () => 1)).toBe(300_000);
  });

  it("Q16 jitter is full: any time from none to the bound", () => {
    expect(retryDelay(POLICY, 3, undefined, () => 0)).toBe(0);
    expect(retryDelay(POLICY, 3, undefined, () => 0.5)).toBe(4000);
    const draws = Array.from({ length: 200 }, () => retryDelay(POLICY, 3, undefined) ?? -1);
    expect(Math.min(...draws)).toBeLessThan(2000);
    expect(Math.max(...draws)).toBeGreaterThan(6000);
  });

  it("Q16 never comes back before Retry-After, and does not honour an absurd one", () => {
    expect(retryDelay(POLICY, 1, 60_000, () => 0)).toBe(60_000);
    expect(retryDelay(POLICY, 1, 1, () => 1)).toBe(2000);
    expect(retryDelay(POLICY, 1, 86_400_000, () => 0)).toBe(3_600_000);
  });

  it("reads Retry-After as seconds and as a date", () => {
    const now = Date.parse("2026-01-01T00:00:00Z");
    expect(readRetryAfter("120", now)).toBe(120_000);
    expect(readRetryAfter("Thu, 01 Jan 2026 00:00:30 GMT", now)).toBe(30_000);
    expect(readRetryAfter("Wed, 31 Dec 2025 00:00:00 GMT", now)).toBe(0);
    expect(readRetryAfter("soon", now)).toBeUndefined();
    expect(readRetryAfter(undefined, now)).toBeUndefined();
  });
});

describe("judging an answer", () => {
  const judge = (status: number, headers = {}) => judgeResponse(status, headers, DECISION, 0);

  it("OW-47 every 2xx is delivered", () => {
    for (const status of [200, 201, 202, 204, 299]) expect(judge(status).kind).toBe("delivered");
  });

  it("Q16 408, 425, 429 and 5xx are tried again; other 4xx end at once", () => {
    for (let status = 400; status < 600; status++) {
      const retryable = status >= 500 || [408, 425, 429].includes(status);
      expect(judge(status)).toMatchObject({ kind: "failed", retryable });
    }
  });

  it("OW-41, S11 every 3xx is a failure, also 304 and 399 (a peer counts them as delivered)", () => {
    for (const status of [300, 301, 302, 303, 304, 305, 307, 308, 399]) {
      expect(judge(status, { location: "https://other.example/" })).toMatchObject({
        kind: "failed",
        reason: "redirect",
        retryable: false,
      });
    }
  });

  it("a status that HTTP does not know is final", () => {
    for (const status of [600, 777, 999]) expect(judge(status)).toMatchObject({ reason: "status_final" });
  });

  it("a receiver ends the retries of a push with webhook-delivery: abort-message", () => {
    const headers = { "webhook-delivery": " Abort-Message " };
    expect(judge(503, headers)).toMatchObject({ reason: "aborted_by_receiver", retryable: false });
    expect(judge(200, headers).kind).toBe("delivered");
    expect(judge(503, { "webhook-delivery": "delay" })).toMatchObject({ retryable: true });
  });

  it("S13, S28 a refusal of the guard is final; SB-76 a resolver outage is not", () => {
    const decision = { ...DECISION, allowed: false, reason: "address_not_public" } as const;
    expect(judgeError(new EgressDenied(decision))).toMatchObject({
      reason: "egress_denied",
      retryable: false,
    });
    for (const reason of ["dns_timeout", "dns_failed", "dns_no_answer"] as const) {
      expect(judgeError(new EgressFailed(reason))).toMatchObject({ reason: "dns", retryable: true });
    }
  });

  it("what we stop ourselves is nobody's attempt; what is a fault of ours is not hidden", () => {
    expect(judgeError(new EgressFailed("aborted"))).toEqual({ kind: "interrupted" });
    expect(judgeError(new EgressFailed("closed"))).toEqual({ kind: "interrupted" });
    expect(() => judgeError(new TypeError("a bug"))).toThrow("a bug");
  });
});

describe("sealing", () => {
  const key = readSecretKey(makeSecretKey());
  const secret = { token: "tok", credentials: "cred" };

  it("OW-43 opens for the same config and origin only", () => {
    const box = new SecretBox(key);
    const sealed = box.seal(secret, "a");
    expect(box.open(sealed, "a")).toEqual(secret);
    expect(box.open(sealed, "b")).toBeUndefined();
    expect(sealed).not.toContain("tok");
  });

  it("a changed text does not open", () => {
    const box = new SecretBox(key);
    const sealed = box.seal(secret, "a");
    for (let i = 0; i < sealed.length; i++) {
      const flipped = sealed.slice(0, i) + (sealed[i] === "A" ? "B" : "A") + sealed.slice(i + 1);
      // The last character of base64 may hold bits that mean nothing.
      if (Buffer.from(flipped).equals(Buffer.from(sealed)) || i === sealed.length - 1) continue;
      expect(box.open(flipped, "a")).toBeUndefined();
    }
    for (const junk of ["", "1", "1.x.y.z", "2.a.b.c"]) expect(box.open(junk, "a")).toBeUndefined();
  });

  it("keys rotate: the new one seals, the old ones still open, a dropped one does not", () => {
    const sealed = new SecretBox(key).seal(secret, "a");
    const next = readSecretKey(makeSecretKey());
    const rotated = new SecretBox(next, [key]);
    expect(rotated.open(sealed, "a")).toEqual(secret);
    expect(new SecretBox(next).open(sealed, "a")).toBeUndefined();
    expect(new SecretBox(next).open(rotated.seal(secret, "a"), "a")).toEqual(secret);
  });

  it("refuses a key of another size without quoting it", () => {
    for (const bad of ["", "c2hvcnQ=", `${makeSecretKey()}AAAA`]) {
      expect(() => readSecretKey(bad)).toThrow(SecretKeyError);
      expect(() => readSecretKey(bad)).toThrow("32 random bytes");
      if (bad !== "") expect(() => readSecretKey(bad)).toThrow(expect.not.objectContaining({ message: bad }));
    }
  });
});

describe("content", () => {
  const message: MessageInitShape<typeof MessageSchema> = {
    messageId: "m",
    parts: [{ content: { case: "text", value: "the question" } }],
  };

  it("OW-50 by reference: the state and artifact ids, no outputs, no question", () => {
    const status = create(StreamResponseSchema, {
      payload: {
        case: "statusUpdate",
        value: {
          taskId: "t",
          status: { state: TaskState.INPUT_REQUIRED, message },
          metadata: { k: "the question" },
        },
      },
    });
    const artifact = create(StreamResponseSchema, {
      payload: {
        case: "artifactUpdate",
        value: {
          taskId: "t",
          artifact: { artifactId: "a1", parts: [{ content: { case: "text", value: "the output" } }] },
        },
      },
    });
    const [shortStatus, shortArtifact] = [referencesOf(status), referencesOf(artifact)];
    expect(JSON.stringify(shortStatus)).not.toContain("question");
    expect(shortStatus.payload.value).toMatchObject({ status: { state: TaskState.INPUT_REQUIRED } });
    expect(JSON.stringify(shortArtifact)).not.toContain("output");
    expect(shortArtifact.payload.value).toMatchObject({ artifact: { artifactId: "a1" } });
    // The event itself, which streams get, is as it was.
    expect(JSON.stringify(status)).toContain("question");
  });

  it("OW-50 a 0.3 task by reference keeps state and artifact ids only", () => {
    const task = create(TaskSchema, {
      id: "t",
      status: { state: TaskState.COMPLETED, message },
      history: [message],
      artifacts: [{ artifactId: "a1", parts: [{ content: { case: "text", value: "the output" } }] }],
      metadata: { k: "the question" },
    });
    const text = JSON.stringify(taskReferencesOf(task));
    expect(text).not.toMatch(/question|output/);
    expect(text).toContain("a1");
  });
});

describe("slots", () => {
  const PATIENCE = 30;

  it("SB-77 a host that hangs keeps two slots, whatever it had", async () => {
    const slots = new Destinations(1000, PATIENCE);
    const first = await slots.enter("slow");
    if (typeof first === "number") throw new Error("no slot");
    first.leave("slow");
    const held = await Promise.all([1, 2, 3, 4].map(() => slots.enter("slow")));
    expect(held.filter((slot) => typeof slot !== "number")).toHaveLength(2);
    expect(typeof (await slots.enter("healthy"))).not.toBe("number");
  });

  it("SB-77 strangers together get at most half of the slots", async () => {
    const slots = new Destinations(64, PATIENCE);
    const proven = await slots.enter("proven");
    if (typeof proven === "number") throw new Error("no slot");
    proven.leave("good");
    const strangers = await Promise.all(Array.from({ length: 100 }, (_, i) => slots.enter(`stranger-${i}`)));
    expect(strangers.filter((slot) => typeof slot !== "number")).toHaveLength(32);
    expect(typeof (await slots.enter("proven"))).not.toBe("number");
  });

  it("a host earns slots by answering, and a waiting lane gets the one that is left", async () => {
    const slots = new Destinations(1000, 1000);
    for (let i = 0; i < 100; i++) {
      const slot = await slots.enter("good");
      if (typeof slot === "number") throw new Error("no slot");
      slot.leave("good");
    }
    const held = await Promise.all(Array.from({ length: 64 }, () => slots.enter("good")));
    expect(held.every((slot) => typeof slot !== "number")).toBe(true);
    const late = slots.enter("good");
    const [one] = held;
    if (one === undefined || typeof one === "number") throw new Error("no slot");
    one.leave("good");
    expect(typeof (await late)).not.toBe("number");
  });
});

describe("defaults", () => {
  it("A2A-195 an attempt ends after 10 to 30 seconds", () => {
    const { timeoutSeconds } = parseConfig({}).push;
    expect(timeoutSeconds).toBeGreaterThanOrEqual(10);
    expect(timeoutSeconds).toBeLessThanOrEqual(30);
  });
});

describe("metrics and traces", () => {
  it("counts by labels and keeps cumulative buckets", () => {
    const metrics = new PushMetrics();
    metrics.count("baton_push_attempts_total", { outcome: "failed", reason: "dns" });
    metrics.count("baton_push_attempts_total", { outcome: "failed", reason: "tls" }, 2);
    expect(metrics.value("baton_push_attempts_total", { outcome: "failed" })).toBe(3);
    expect(metrics.value("baton_push_attempts_total", { reason: "tls" })).toBe(2);
    for (const seconds of [0.004, 0.2, 99_999]) metrics.observe("baton_push_delay_seconds", seconds);
    const { buckets, count, sum } = metrics.histogram("baton_push_delay_seconds");
    expect([buckets[0]?.count, buckets.at(-1)?.count, count]).toEqual([1, 2, 3]);
    expect(sum).toBeCloseTo(99_999.204);
  });

  it("keeps a trace context only where it is one", () => {
    expect(isTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")).toBe(true);
    for (const bad of [
      "",
      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
      "x\r\ny",
      "00-abc-def-01",
    ]) {
      expect(isTraceparent(bad)).toBe(false);
    }
  });
});
