import { describe, expect, it } from "vitest";
import { tableResolver } from "../egress/receiver.ts";
import { open, receiver, rigOf } from "./opened.ts";
import { hang, type PushReceiver, quiet, respond } from "./receiver.ts";
import { AGENT, type PushRig } from "./rig.ts";

async function deadOf(rig: PushRig, taskId: string, ms = 10_000) {
  const end = Date.now() + ms;
  for (;;) {
    const letters = await rig.push.deadLetters.list(AGENT, { taskId, limit: 10 });
    if (letters.length > 0) return letters;
    if (Date.now() > end) throw new Error("no dead letter came");
    await quiet(20);
  }
}

describe("slow receivers", () => {
  /** Delays from commit to arrival of one push to each of many healthy receivers, in milliseconds, sorted. */
  async function healthyDelays(
    rig: PushRig,
    hooks: readonly PushReceiver[],
    count: number,
  ): Promise<number[]> {
    const started = new Map<string, number>();
    const done = hooks.map((hook) => hook.until(hook.hits.length + count / hooks.length, 30_000));
    for (let i = 0; i < count; i++) {
      const hook = hooks[i % hooks.length];
      if (hook === undefined) throw new Error("no receiver");
      const at = Date.now();
      started.set(await rig.begin({ url: hook.url }), at);
      if (i % 10 === 9) await quiet(5);
    }
    await Promise.all(done);
    return hooks
      .flatMap(({ hits }) => hits)
      .flatMap(({ at, body }) => {
        const began = started.get(JSON.parse(body).statusUpdate.taskId);
        return began === undefined ? [] : [at - began];
      })
      .sort((a, b) => a - b);
  }

  it("SB-77, FR-54 twenty that hang do not delay two hundred pushes to healthy ones", async () => {
    const rig = await rigOf({ push: { timeoutSeconds: 5, concurrency: 256 } });
    const hooks = await Promise.all([1, 2, 3, 4].map(() => receiver()));
    const alone = await healthyDelays(rig, hooks, 200);
    const slow = await Promise.all(Array.from({ length: 20 }, () => receiver({ answer: hang })));
    for (const { url } of slow) for (let i = 0; i < 10; i++) await rig.begin({ url });
    await quiet(300);
    const beside = await healthyDelays(rig, hooks, 200);
    const p99 = (delays: readonly number[]) => delays[Math.floor(delays.length * 0.99)] ?? 0;
    // Twice, and a few milliseconds for the clock and a busy machine.
    expect(p99(beside)).toBeLessThan(2 * p99(alone) + 100);
    expect(slow.every(({ hits }) => hits.length > 0)).toBe(true);
  });

  it("Q16 a host gets at most its rate, over all replicas, and other hosts do not notice", async () => {
    const rig = await rigOf({ push: { host: { perSecond: 20, burst: 5 } } });
    const second = await rig.replica();
    open.push({ close: () => second.stop() });
    const [busy, calm] = [await receiver(), await receiver()];
    const started = Date.now();
    for (let i = 0; i < 25; i++) await (i % 2 === 0 ? rig : second).begin({ url: busy.url });
    const calmStarted = Date.now();
    await rig.begin({ url: calm.url });
    await calm.until(1);
    expect(Date.now() - calmStarted).toBeLessThan(500);
    await busy.until(25);
    // 5 at once, then 20 each second: the last one not before 1 s.
    expect(Date.now() - started).toBeGreaterThanOrEqual(980);
    const times = busy.hits.map(({ at }) => at);
    for (let i = 0; i + 10 < times.length; i++) {
      const span = (times[i + 10] ?? 0) - (times[i] ?? 0);
      if (i >= 5) expect(span).toBeGreaterThan(350);
    }
  });

  it("a host that fails again and again is left alone; one probe finds it well again", async () => {
    const rig = await rigOf({
      push: { attempts: 50, breaker: { failures: 3, openSeconds: 0.5, openMaxSeconds: 1 } },
    });
    const hook = await receiver({ answer: respond(503) });
    for (let i = 0; i < 5; i++) await rig.begin({ url: hook.url });
    await hook.until(3);
    await quiet(150);
    const hits = hook.hits.length;
    await quiet(250);
    expect(hook.hits.length).toBe(hits);
    expect(rig.log).toContainEqual(expect.objectContaining({ message: "push receiver is left alone" }));
    hook.answer = respond(204);
    await hook.until(hits + 5, 10_000);
    // Waiting cost no attempt: attempts are billed when a request starts.
    const numbers = hook.hits.map(({ headers }) => Number(headers["a2a-notification-attempt"]));
    expect(Math.max(...numbers)).toBeLessThan(10);
  });

  it("a push that cannot be sent in time is a dead letter that says so, without an attempt", async () => {
    const rig = await rigOf({ push: { expirySeconds: 1, breaker: { failures: 1, openSeconds: 2 } } });
    const hook = await receiver({ answer: respond(503) });
    await rig.begin({ url: hook.url });
    await hook.until(1);
    const id = await rig.begin({ url: hook.url });
    const [letter] = await deadOf(rig, id);
    expect(letter).toMatchObject({ reason: "expired", attempts: 0 });
  });

  it("a lane that is full buries what comes on top, and keeps its order", async () => {
    const rig = await rigOf({ push: { laneDepth: 3, timeoutSeconds: 0.5 } });
    let stuck = true;
    const hook = await receiver({
      answer: (hit, response) => (stuck && hit.seq === 1 ? undefined : response.writeHead(200).end()),
    });
    const id = await rig.begin({ url: hook.url });
    await hook.until(1);
    await rig.claim(id);
    for (let i = 0; i < 4; i++) await rig.say(id, `${i}`);
    await quiet(100);
    stuck = false;
    const letters = await deadOf(rig, id);
    expect(letters.map(({ seq, reason }) => [seq, reason]).sort()).toEqual([
      [4, "lane_full"],
      [5, "lane_full"],
      [6, "lane_full"],
    ]);
    await hook.until(4);
    expect(hook.hits.map(({ seq }) => seq)).toEqual([1, 1, 2, 3]);
  });
});

describe("guard at delivery", () => {
  it("OW-40, SB-76, FR-51 a name that turns private after registration gets no connection, and a failed attempt is recorded", async () => {
    const hook = await receiver({ names: ["hook.example.com"] });
    const private2 = ["10.0.0.5"];
    const resolver = tableResolver({
      "hook.example.com": [["127.0.0.1"], private2],
      "mixed.example.com": [["127.0.0.1"], ["127.0.0.1", "169.254.169.254"]],
    });
    const rig = await rigOf({ resolver });
    for (const name of ["hook.example.com", "mixed.example.com"]) {
      const id = await rig.begin({ url: `https://${name}:${hook.port}/x?secret=query` });
      const [letter] = await deadOf(rig, id);
      expect(letter).toMatchObject({ reason: "egress_denied", attempts: 1 });
      expect(JSON.parse(letter?.note ?? "")).toMatchObject({ egress: { allowed: false, arm: "address" } });
    }
    expect(hook.accepted).toBe(0);
    // Logged with arm and range, without path or query; counted.
    const refusals = rig.log.filter(({ message }) => message === "push destination refused");
    expect(refusals).toHaveLength(2);
    expect(refusals[0]?.fields).toMatchObject({
      when: "delivery",
      egress: { arm: "address", range: "private-10" },
    });
    expect(JSON.stringify(rig.log)).not.toContain("secret=query");
    expect(
      rig.push.metrics.value("baton_push_egress_decisions_total", { allowed: "false", when: "delivery" }),
    ).toBe(2);
  });

  it("OW-40 SNI, certificate and Host are the name's, the connection goes to the checked address", async () => {
    const hook = await receiver({ names: ["hook.example.com"] });
    const resolver = tableResolver({
      "hook.example.com": [["127.0.0.1"]],
      "other.example.com": [["127.0.0.1"]],
    });
    const rig = await rigOf({ resolver, push: { attempts: 1 } });
    await rig.begin({ url: `https://hook.example.com:${hook.port}/x` });
    const [hit] = await hook.until(1);
    expect(hit?.headers.host).toBe(`hook.example.com:${hook.port}`);
    const id = await rig.begin({ url: `https://other.example.com:${hook.port}/x` });
    expect((await deadOf(rig, id))[0]).toMatchObject({ reason: "tls" });
  });

  it("SB-76 a resolver that is down is tried again, unlike a refusal", async () => {
    const hook = await receiver({ names: ["hook.example.com"] });
    const down = Object.assign(new Error("down"), { code: "ESERVFAIL" });
    const resolver = tableResolver({ "hook.example.com": [["127.0.0.1"], down, down, ["127.0.0.1"]] });
    const rig = await rigOf({ resolver });
    await rig.begin({ url: `https://hook.example.com:${hook.port}/x` });
    const [hit] = await hook.until(1);
    expect(hit?.headers["a2a-notification-attempt"]).toBe("3");
  });

  it("OW-42 an exception that the operator makes is said at warn when starting", async () => {
    const rig = await rigOf();
    expect(rig.log[0]).toMatchObject({ level: "warn", message: expect.stringContaining("127.0.0.1/32") });
    expect(rig.push.exceptions).toEqual([expect.stringContaining("127.0.0.1/32")]);
  });
});

describe("replicas", () => {
  it("D5, B8 three of them send each push once", async () => {
    const first = await rigOf();
    for (let i = 0; i < 2; i++) {
      const more = await first.replica();
      open.push({ close: () => more.stop() });
    }
    const hook = await receiver();
    const ids = await Promise.all(Array.from({ length: 20 }, () => first.begin({ url: hook.url })));
    for (const id of ids) await first.claim(id);
    await Promise.all(ids.map((id) => first.say(id, "on the way")));
    await Promise.all(ids.map((id) => first.complete(id)));
    await hook.until(80);
    await quiet(300);
    expect(hook.hits).toHaveLength(80);
    for (const id of ids) {
      const own = hook.hits.filter(({ body }) => JSON.parse(body).statusUpdate.taskId === id);
      expect(own.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    }
  });

  it("SB-79 push stands still: streams and commits do not notice, and nothing is lost", async () => {
    const idle = await rigOf({ start: false });
    const hook = await receiver();
    const id = await idle.begin({ url: hook.url });
    await idle.claim(id);
    const started = Date.now();
    for (let i = 0; i < 50; i++) await idle.say(id, `${i}`);
    expect(Date.now() - started).toBeLessThan(2000);
    const log = await idle.connection.run("baton:{default}:", ["XLEN", `baton:{default}:task:${id}:log`]);
    expect(log).toBe(52);
    const worker = await idle.replica({ start: true });
    open.push({ close: () => worker.stop() });
    await hook.until(52);
    expect(hook.hits.map(({ seq }) => seq)).toEqual(Array.from({ length: 52 }, (_, i) => i + 1));
  });

  it("D4 a delivery that is cut by two stops in a row is sent by the next process, and costs no attempt", async () => {
    const idle = await rigOf({ start: false });
    const hook = await receiver({ answer: hang });
    await idle.begin({ url: hook.url });
    for (let i = 1; i <= 2; i++) {
      const worker = await idle.replica({ start: true, push: { timeoutSeconds: 10 } });
      await hook.until(i);
      await worker.push.stop(50);
    }
    hook.answer = respond(204);
    const last = await idle.replica({ start: true });
    open.push({ close: () => last.stop() });
    const hits = await hook.until(3, 5000);
    expect(hits.map(({ headers }) => headers["a2a-notification-attempt"])).toEqual(["1", "1", "1"]);
  });

  it("B14, D13 a stop in the middle of ten deliveries lets them end, and leaves nothing open", async () => {
    const idle = await rigOf({ start: false });
    const hook = await receiver({
      answer: (_hit, response) => void setTimeout(() => response.writeHead(204).end(), 300),
    });
    const worker = await idle.replica({ start: true });
    for (let i = 0; i < 8; i++) await idle.begin({ url: hook.url });
    await hook.until(8);
    await worker.push.stop(5000);
    await quiet(100);
    expect((await idle.push.lanes.report(AGENT, 10)).lanes).toBe(0);
    expect(hook.hits).toHaveLength(8);
    await quiet(4500);
    const sockets = process
      .getActiveResourcesInfo()
      .filter((name) => name === "TLSSocketWrap" || name === "TLSWrap");
    expect(sockets).toEqual([]);
  });
});
