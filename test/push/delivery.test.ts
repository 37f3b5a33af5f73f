import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import { hang, type PushReceiver, quiet, respond, startPushReceiver } from "./receiver.ts";
import { AGENT, caller, type PushRig, startRig, text } from "./rig.ts";

let rig: PushRig;
const receivers: PushReceiver[] = [];
beforeAll(async () => {
  rig = await startRig();
});
afterAll(async () => {
  for (const receiver of receivers) await receiver.close();
  await rig.stop();
});

async function receiver(...args: Parameters<typeof startPushReceiver>): Promise<PushReceiver> {
  const made = await startPushReceiver(...args);
  receivers.push(made);
  return made;
}

const seqs = (hits: readonly { readonly seq: number }[]) => hits.map(({ seq }) => seq);
const dead = (taskId: string) => rig.push.deadLetters.list(AGENT, { taskId, limit: 100 });

async function deadOf(taskId: string, count: number, ms = 10_000) {
  const end = Date.now() + ms;
  for (;;) {
    const letters = await dead(taskId);
    if (letters.length >= count) return letters;
    if (Date.now() > end) throw new Error(`${letters.length} of ${count} dead letters within ${ms} ms`);
    await quiet(20);
  }
}

describe("what is sent", () => {
  it("FR-53, A2A-193, A2A-199, OW-48, OW-49 every event is pushed in order, from the first, nobody waiting", async () => {
    const hook = await receiver();
    const id = await rig.begin({ url: hook.url });
    await rig.claim(id);
    await rig.artifact(id, "the result");
    await rig.complete(id);
    const hits = await hook.until(4);
    expect(seqs(hits)).toEqual([1, 2, 3, 4]);
    const bodies = hits.map(({ body }) => JSON.parse(body));
    expect(bodies[0].statusUpdate).toMatchObject({ taskId: id, status: { state: "TASK_STATE_SUBMITTED" } });
    expect(bodies[1].statusUpdate.status.state).toBe("TASK_STATE_WORKING");
    expect(bodies[2].artifactUpdate.artifact.parts).toEqual([{ text: "the result" }]);
    expect(bodies[3].statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("OW-48 registration pushes nothing by itself; the next event is the first push", async () => {
    const hook = await receiver();
    const id = await rig.begin();
    await rig.register(id, { url: hook.url });
    await quiet(300);
    expect(hook.accepted).toBe(0);
    await rig.claim(id);
    const [hit] = await hook.until(1);
    expect(JSON.parse(hit?.body ?? "").statusUpdate.taskId).toBe(id);
    expect(hit?.seq).toBe(2);
  });

  it("FR-56, OW-49, A2A-191, A2A-202 1.0: one StreamResponse as application/a2a+json, with stable id, sequence and attempt", async () => {
    const hook = await receiver({
      answer: (_hit, response, count) => response.writeHead(count === 0 ? 500 : 200).end(),
    });
    const id = await rig.begin({ url: hook.url });
    const [first, again] = await hook.until(2);
    expect(first?.headers).toMatchObject({
      "content-type": "application/a2a+json",
      "a2a-version": "1.0",
      "a2a-event-sequence": "1",
      "a2a-notification-id": `${id}/1`,
      "a2a-notification-attempt": "1",
      host: `127.0.0.1:${hook.port}`,
    });
    expect(first?.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);
    // SB-78: a retry repeats number, id and body; only the attempt counts up.
    expect(again?.headers).toMatchObject({
      "a2a-event-sequence": "1",
      "a2a-notification-id": `${id}/1`,
      "a2a-notification-attempt": "2",
    });
    expect(again?.body).toBe(first?.body);
    expect(Object.keys(JSON.parse(first?.body ?? ""))).toEqual(["statusUpdate"]);
    expect(JSON.parse(first?.body ?? "").statusUpdate.metadata["urn:baton:a2a:push-delivery:v1"]).toEqual({
      sequence: 1,
      notificationId: `${id}/1`,
    });
  });

  it("FR-56, A2A-174 0.3: the whole Task with kind as application/json, as it was at the event", async () => {
    const hook = await receiver();
    const id = await rig.begin({ url: hook.url, token: "t0" }, "0.3");
    await rig.claim(id);
    await rig.artifact(id, "the result");
    await rig.complete(id);
    const hits = await hook.until(4);
    const bodies = hits.map(({ body }) => JSON.parse(body));
    expect(bodies.map(({ kind, status }) => [kind, status.state])).toEqual([
      ["task", "submitted"],
      ["task", "working"],
      ["task", "working"],
      ["task", "completed"],
    ]);
    expect(bodies.map(({ artifacts }) => artifacts?.length ?? 0)).toEqual([0, 0, 1, 1]);
    expect(bodies[0].history[0].parts[0]).toMatchObject({ kind: "text", text: "please" });
    for (const { headers } of hits) {
      expect(headers["content-type"]).toBe("application/json");
      expect(headers["a2a-version"]).toBe("0.3");
      expect(headers["x-a2a-notification-token"]).toBe("t0");
    }
  });

  it("FR-49, OW-43, A2A-192 Authorization is scheme and credentials as given, or the scheme alone", async () => {
    const hook = await receiver();
    const cases = [
      [{ scheme: "Bearer", credentials: "s3" }, "Bearer s3"],
      [{ scheme: "bearer", credentials: "s3" }, "bearer s3"],
      [{ scheme: "Basic", credentials: "dTpw" }, "Basic dTpw"],
      [{ scheme: "Negotiate" }, "Negotiate"],
    ] as const;
    for (const [config, expected] of cases) {
      const before = hook.hits.length;
      await rig.begin({ url: hook.url, token: "not-sent", ...config });
      const hits = await hook.until(before + 1);
      expect(hits[before]?.headers.authorization).toBe(expected);
      // OW-44: with authentication present the token is not sent.
      expect(hits[before]?.headers["x-a2a-notification-token"]).toBeUndefined();
    }
  });

  it("OW-44 a token alone is sent as bearer and as X-A2A-Notification-Token", async () => {
    const hook = await receiver();
    await rig.begin({ url: hook.url, token: "tok" });
    const [hit] = await hook.until(1);
    expect(hit?.headers.authorization).toBe("Bearer tok");
    expect(hit?.headers["x-a2a-notification-token"]).toBe("tok");
  });

  it("OW-51, OW-59 no signature headers, and nothing of the caller's credential", async () => {
    const hook = await receiver();
    await rig.begin({ url: hook.url, scheme: "Bearer", credentials: "c" });
    const [hit] = await hook.until(1);
    const names = (hit?.rawHeaders ?? []).filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
    for (const name of names) expect(name).not.toMatch(/signature|^x-openwop|^webhook-|cookie|dpop/);
    expect(names.filter((name) => name === "authorization")).toHaveLength(1);
  });

  it("OW-50 an agent that pushes references only sends neither output nor question", async () => {
    const shy = await startRig({
      redis: rig.redis,
      agents: { default: { pushContent: "references" } },
      start: false,
    });
    const hook = await receiver();
    // The other process must not take this one's pushes with its own settings.
    const other = await startRig({ agents: { default: { pushContent: "references" } } });
    const id = await other.begin({ url: hook.url });
    await other.claim(id);
    await other.say(id, "a secret thought");
    await other.artifact(id, "a secret result");
    const hits = await hook.until(4);
    expect(hits.map(({ body }) => body).join()).not.toContain("secret");
    expect(JSON.parse(hits[3]?.body ?? "").artifactUpdate.artifact.artifactId).toBe("result");
    await other.stop();
    await shy.stop();
  });

  it("the trace of the call that registered goes on, with a span of our own", async () => {
    const hook = await receiver();
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    const id = await rig.begin();
    const { config, ref, sealed, limit } = await rig.push.registrar.prepare({
      agent: AGENT,
      caller: caller(),
      version: "1.0",
      path: "",
      signal: new AbortController().signal,
      traceparent: `00-${trace}-00f067aa0ba902b7-01`,
      config: {
        $typeName: "lf.a2a.v1.TaskPushNotificationConfig",
        tenant: "",
        id: "",
        taskId: id,
        url: hook.url,
        token: "",
      },
    });
    await rig.push.configs.set(
      AGENT,
      id,
      { id: caller().id, shared: false, queues: [] },
      { config, ref, sealed, limit },
      "t",
    );
    await rig.claim(id);
    const [hit] = await hook.until(1);
    expect(hit?.headers.traceparent).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
    expect(hit?.headers.traceparent).not.toContain("00f067aa0ba902b7");
  });

  it("SB-78 one hundred transitions at once: numbers without gap, unique, and pushed in order", async () => {
    const hook = await receiver();
    const id = await rig.begin({ url: hook.url });
    await rig.claim(id);
    await Promise.all(Array.from({ length: 100 }, (_, i) => rig.say(id, `step ${i}`)));
    const hits = await hook.until(102);
    expect(seqs(hits)).toEqual(Array.from({ length: 102 }, (_, i) => i + 1));
  });

  it("OW-56 several configs of one task each get every event, with their own credentials", async () => {
    const [one, two] = [await receiver(), await receiver()];
    const id = await rig.begin({ url: one.url, scheme: "Bearer", credentials: "one" });
    await rig.register(id, { url: two.url, scheme: "Bearer", credentials: "two" });
    await rig.claim(id);
    await rig.complete(id);
    expect(seqs(await one.until(3))).toEqual([1, 2, 3]);
    expect(seqs(await two.until(2))).toEqual([2, 3]);
    expect(new Set(one.hits.map(({ headers }) => headers.authorization))).toEqual(new Set(["Bearer one"]));
    expect(new Set(two.hits.map(({ headers }) => headers.authorization))).toEqual(new Set(["Bearer two"]));
  });

  it("OW-53 a task made from another one, as a replay fork is, inherits no config and pushes nothing", async () => {
    const hook = await receiver();
    const parent = await rig.begin({ url: hook.url });
    await rig.claim(parent);
    await rig.complete(parent);
    await hook.until(3);
    const child = await rig.begin();
    await rig.claim(child);
    await rig.complete(child);
    await quiet(400);
    expect(hook.hits).toHaveLength(3);
  });
});

describe("failing receivers", () => {
  it("OW-41, S4, S11 a redirect of any kind ends the push; nothing reaches its target", async () => {
    const target = await receiver();
    for (const status of [301, 302, 303, 307, 308]) {
      const hook = await receiver({ answer: respond(status, { location: target.url }) });
      const id = await rig.begin({ url: hook.url, scheme: "Bearer", credentials: "c" });
      const [letter] = await deadOf(id, 1);
      expect(letter).toMatchObject({ reason: "redirect", attempts: 1 });
      expect(hook.hits).toHaveLength(1);
    }
    await quiet(200);
    expect(target.accepted).toBe(0);
  });

  it("FR-54, Q16, SB-77, A2A-194 a receiver that always fails gets six attempts; then there is a dead letter", async () => {
    const hook = await receiver({ answer: respond(500) });
    const id = await rig.begin({ url: hook.url });
    const [letter] = await deadOf(id, 1);
    expect(hook.hits.map(({ headers }) => headers["a2a-notification-attempt"])).toEqual([
      "1",
      "2",
      "3",
      "4",
      "5",
      "6",
    ]);
    expect(letter).toMatchObject({
      seq: 1,
      reason: "status_retryable",
      attempts: 6,
      host: `127.0.0.1:${hook.port}`,
    });
    await quiet(300);
    expect(hook.hits).toHaveLength(6);
  });

  it("FR-54 a receiver that closes the socket, one that never answers and one that is away end as dead letters", async () => {
    const closing = await receiver({
      answer: (_hit, _response, _count, request) => request.socket.destroy(),
    });
    const silent = await receiver({ answer: hang });
    const gone = await startPushReceiver();
    await gone.close();
    const slow = await startRig({ push: { attempts: 2, timeoutSeconds: 0.3 } });
    const ids = [];
    for (const { url } of [closing, silent, gone]) ids.push(await slow.begin({ url }));
    const reasons: (string | undefined)[] = [];
    for (const id of ids) {
      const end = Date.now() + 10_000;
      let letters = await slow.push.deadLetters.list(AGENT, { taskId: id, limit: 1 });
      while (letters.length === 0 && Date.now() < end) {
        await quiet(20);
        letters = await slow.push.deadLetters.list(AGENT, { taskId: id, limit: 1 });
      }
      reasons.push(letters[0]?.reason);
    }
    expect(reasons).toEqual(["network", "timeout", "network"]);
    await slow.stop();
  });

  it("A2A-195 an attempt has one time limit: 10 s by default, and it holds for a receiver that trickles", async () => {
    expect(parseConfig({}).push.timeoutSeconds).toBe(10);
    const hook = await receiver({
      // The head never ends: one byte now and then, so that no idle timer fires.
      answer: (_hit, _response, count, request) => {
        if (count > 0) return void request.socket.end("HTTP/1.1 204 No Content\r\n\r\n");
        request.socket.write("HTTP/1.1 200 OK\r\nx-slow: ");
        const timer = setInterval(() => request.socket.write("a"), 100);
        request.socket.on("close", () => clearInterval(timer));
      },
    });
    await rig.begin({ url: hook.url });
    const [first, second] = await hook.until(2);
    const waited = (second?.at ?? 0) - (first?.at ?? 0);
    expect(waited).toBeGreaterThan(900);
    expect(waited).toBeLessThan(3000);
  });

  it("D11 an answer that breaks off after its head counts by its status, once", async () => {
    const hook = await receiver({
      answer: (_hit, response, _count, request) => {
        response.writeHead(200, { "content-length": "100" });
        response.write("part");
        setTimeout(() => request.socket.destroy(), 20);
      },
    });
    const id = await rig.begin({ url: hook.url });
    await rig.claim(id);
    expect(seqs(await hook.until(2))).toEqual([1, 2]);
    expect(await dead(id)).toEqual([]);
  });

  it("FR-54, SB-77 a second config of the same task is served at once while the first one fails", async () => {
    const bad = await receiver({ answer: hang });
    const good = await receiver();
    const id = await rig.begin({ url: bad.url });
    await rig.register(id, { url: good.url });
    const started = Date.now();
    await rig.claim(id);
    await good.until(1);
    expect(Date.now() - started).toBeLessThan(500);
  });

  it("A2A-198 a retry is not overtaken by later events of its lane", async () => {
    const hook = await receiver({
      answer: (_hit, response, count) => response.writeHead(count < 3 ? 503 : 200).end(),
    });
    const id = await rig.begin({ url: hook.url });
    await rig.claim(id);
    await rig.complete(id);
    expect(seqs(await hook.until(6))).toEqual([1, 1, 1, 1, 2, 3]);
  });

  it("Q16 Retry-After is honoured", async () => {
    const hook = await receiver({
      answer: (_hit, response, count) =>
        count === 0 ? response.writeHead(429, { "retry-after": "1" }).end() : response.writeHead(204).end(),
    });
    await rig.begin({ url: hook.url });
    const [first, second] = await hook.until(2);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990);
  });

  it("Q16 a final status ends at once, the lane goes on with the next event", async () => {
    const hook = await receiver({
      answer: (hit, response) => response.writeHead(hit.seq === 1 ? 410 : 200).end(),
    });
    const id = await rig.begin({ url: hook.url });
    await rig.claim(id);
    expect(seqs(await hook.until(2))).toEqual([1, 2]);
    expect(await deadOf(id, 1)).toMatchObject([{ seq: 1, reason: "status_final", attempts: 1 }]);
  });

  it("webhook-delivery: abort-message stops the retries of that push", async () => {
    const hook = await receiver({
      answer: (hit, response) =>
        hit.seq === 1
          ? response.writeHead(503, { "webhook-delivery": "abort-message" }).end()
          : response.writeHead(200).end(),
    });
    const id = await rig.begin({ url: hook.url });
    await rig.claim(id);
    expect(seqs(await hook.until(2))).toEqual([1, 2]);
    expect(await deadOf(id, 1)).toMatchObject([{ reason: "aborted_by_receiver", attempts: 1 }]);
  });

  it("S26 of a receiver's answer nothing is kept but the status", async () => {
    const canary = "receiver-body-canary";
    const hook = await receiver({ answer: respond(500, { "x-canary": canary }, canary.repeat(60_000)) });
    const id = await rig.begin({ url: hook.url });
    const [letter] = await deadOf(id, 1, 20_000);
    expect(JSON.stringify(letter)).not.toContain(canary);
    expect(JSON.stringify(rig.log)).not.toContain(canary);
  });

  it("D7 failures are counted, logged with config, task, attempt and reason, and seen in the record of attempts", async () => {
    const hook = await receiver({
      answer: (_hit, response, count) => response.writeHead(count === 0 ? 500 : 200).end(),
    });
    const id = await rig.begin({ url: hook.url, id: "my-config" });
    await hook.until(2);
    await quiet(100);
    expect(rig.log).toContainEqual(
      expect.objectContaining({
        level: "warn",
        fields: expect.objectContaining({
          task: id,
          config: "my-config",
          attempt: 1,
          reason: "status_retryable",
        }),
      }),
    );
    const lines = (await rig.push.deadLetters.attempts(AGENT, 1000)).filter(({ taskId }) => taskId === id);
    expect(lines.map(({ note }) => JSON.parse(note))).toMatchObject([
      {
        attempt: 2,
        outcome: "delivered",
        status: 200,
        egress: { allowed: true, arm: "address", reason: "allowed" },
      },
      { attempt: 1, outcome: "failed", reason: "status_retryable", status: 500 },
    ]);
    expect(
      rig.push.metrics.value("baton_push_attempts_total", { reason: "status_retryable" }),
    ).toBeGreaterThan(0);
    expect(rig.push.metrics.histogram("baton_push_delay_seconds").count).toBeGreaterThan(0);
  });
});

describe("discarding", () => {
  const viewer = { id: caller().id, shared: false, queues: [] };
  const keys = async (pattern: string) => (await rig.connection.run("x", ["KEYS", pattern])) as unknown[];

  it("OW-46, A2A-104 when the task has ended and its last push was delivered, config and credential are gone", async () => {
    const hook = await receiver();
    const before = (await keys("baton:{default}:secret:*")).length;
    const id = await rig.begin({ url: hook.url, token: "tok" });
    await rig.claim(id);
    expect((await keys("baton:{default}:secret:*")).length).toBe(before + 1);
    await rig.complete(id);
    await hook.until(3);
    await quiet(100);
    expect(await rig.push.configs.list(AGENT, id, viewer)).toEqual([]);
    expect((await keys("baton:{default}:secret:*")).length).toBe(before);
    expect(await keys(`baton:{default}:push:${id}`)).toEqual([]);
  });

  it("OW-46, OW-52, Q16 where the last push died the client sees no config, and an operator can still replay it", async () => {
    const hook = await receiver({ answer: respond(404) });
    const id = await rig.begin({ url: hook.url, scheme: "Bearer", credentials: "kept" });
    await rig.cancel(id);
    const letters = await deadOf(id, 2);
    await quiet(50);
    expect(await rig.push.configs.list(AGENT, id, viewer)).toEqual([]);
    hook.answer = respond(204);
    const before = hook.hits.length;
    const { replayed, refused, turns } = await rig.push.deadLetters.replay(
      AGENT,
      letters.map((l) => l.id),
      "operator",
    );
    await rig.push.queue(AGENT, turns);
    expect({ replayed, refused }).toEqual({ replayed: 2, refused: 0 });
    const hits = await hook.until(before + 2);
    expect(seqs(hits.slice(before))).toEqual([1, 2]);
    expect(hits.at(-1)?.headers.authorization).toBe("Bearer kept");
    await quiet(100);
    // Now that nothing is left to replay, the credential goes too.
    expect(await keys("baton:{default}:push-ended:*")).toEqual([]);
    expect(await dead(id)).toEqual([]);
  });

  it("A2A-107, A2A-197, OW-46 after a delete nothing is sent, not even a retry that was queued; the other config goes on", async () => {
    const [bad, good] = [await receiver({ answer: respond(503, { "retry-after": "1" }) }), await receiver()];
    const id = await rig.begin({ url: bad.url, id: "bad" });
    await rig.register(id, { url: good.url, id: "good" });
    await bad.until(1);
    expect(await rig.push.configs.delete(AGENT, id, viewer, "bad", "client")).toBe(true);
    await rig.claim(id);
    await good.until(1);
    await quiet(1500);
    expect(bad.hits).toHaveLength(1);
    expect(await dead(id)).toEqual([]);
  });

  it("A2A-107 a request that is under way when its config is deleted is cut and not repeated", async () => {
    let cutAt = 0;
    const hook = await receiver({
      answer: (_hit, _response, _count, request) =>
        request.socket.on("close", () => {
          cutAt = Date.now();
        }),
    });
    const id = await rig.begin({ url: hook.url, id: "c" });
    await hook.until(1);
    const deletedAt = Date.now();
    await rig.push.configs.delete(AGENT, id, viewer, "c", "client");
    await quiet(1500);
    expect(hook.hits).toHaveLength(1);
    // Well before the time limit of the attempt.
    expect(cutAt - deletedAt).toBeLessThan(500);
    expect(cutAt).toBeGreaterThan(0);
  });

  it("a replay of a deleted config is refused, and purging removes it", async () => {
    const hook = await receiver({ answer: respond(400) });
    const id = await rig.begin({ url: hook.url, id: "c", token: "tok" });
    const letters = await deadOf(id, 1);
    await rig.push.configs.delete(AGENT, id, viewer, "c", "client");
    const ids = letters.map((letter) => letter.id);
    expect(await rig.push.deadLetters.replay(AGENT, ids, "operator")).toEqual({
      replayed: 0,
      refused: 1,
      turns: [],
    });
    expect(await rig.push.deadLetters.purge(AGENT, ids)).toBe(1);
    expect(await dead(id)).toEqual([]);
  });

  it("A2A-109 a config on an ended task is taken and never used", async () => {
    const hook = await receiver();
    const id = await rig.begin();
    await rig.cancel(id);
    await rig.register(id, { url: hook.url, token: "tok" });
    await quiet(200);
    expect(hook.accepted).toBe(0);
  });

  it("Q23 the config and the credential of a task that is purged go with it", async () => {
    const hook = await receiver();
    const id = await rig.begin();
    await rig.cancel(id);
    const before = (await keys("baton:{default}:secret:*")).length;
    await rig.register(id, { url: hook.url, token: "tok" });
    expect((await keys("baton:{default}:secret:*")).length).toBe(before + 1);
    await quiet(10);
    const limits = { interruptLimitMs: 0, timeoutMessage: text("late"), retentionMs: 1, maxEnded: 1000 };
    while ((await rig.todos.sweep(AGENT, ["default"], limits)) > 0);
    expect(await keys(`baton:{default}:*${id}*`)).toEqual([]);
    expect((await keys("baton:{default}:secret:*")).length).toBeLessThanOrEqual(before);
  });
});
