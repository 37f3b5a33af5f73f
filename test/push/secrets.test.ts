import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import { SecretKeyError } from "../../src/push/secret-box.ts";
import { openSecretBox } from "../../src/push/secret-key.ts";
import { dumpRedis } from "./dump-redis.ts";
import { type PushGateway, startPushGateway } from "./gateway.ts";
import { quiet, respond, startPushReceiver } from "./receiver.ts";
import { AGENT, type PushRig, startRig } from "./rig.ts";

const SENTINELS = {
  token: "sentinel-token-7f3a9c",
  credentials: "sentinel-credentials-51be02",
  query: "sentinel-query-99d1",
};

function expectClean(text: string, what: string): void {
  for (const sentinel of [SENTINELS.token, SENTINELS.credentials]) {
    for (const form of [
      sentinel,
      Buffer.from(sentinel).toString("base64").replace(/=+$/, ""),
      Buffer.from(sentinel).toString("hex"),
      encodeURIComponent(sentinel),
    ]) {
      expect(text.includes(form), `${what} holds ${form}`).toBe(false);
    }
  }
}

describe("no secret anywhere", () => {
  let rig: PushRig;
  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.stop());

  it("OW-45, Q16 not in any key of Redis while pushes wait, fail, die and succeed, nor in logs", async () => {
    let seen = "";
    const look = async () => {
      seen += await dumpRedis(rig.connection);
    };
    const receivers = await Promise.all([
      startPushReceiver(),
      startPushReceiver({ answer: respond(500) }),
      startPushReceiver({ answer: respond(503, { "retry-after": "60" }) }),
      startPushReceiver({
        answer: (hit, response) => {
          // A receiver that echoes what it got.
          response
            .writeHead(400, { "x-echo": String(hit.headers.authorization) })
            .end(JSON.stringify(hit.headers));
        },
      }),
    ]);
    for (const { url } of receivers) {
      for (const secret of [
        { token: SENTINELS.token },
        { scheme: "Bearer", credentials: SENTINELS.credentials, token: SENTINELS.token },
      ]) {
        const id = await rig.begin({ url: `${url}?q=${SENTINELS.query}`, ...secret });
        await look();
        await rig.claim(id);
        await rig.say(id, "step");
        await look();
      }
    }
    await receivers[0]?.until(6);
    await receivers[1]?.until(6, 20_000);
    await quiet(300);
    await look();
    const letters = await rig.push.deadLetters.list(AGENT, { limit: 100 });
    expect(letters.length).toBeGreaterThan(0);
    const shown = JSON.stringify([
      letters,
      await rig.push.lanes.report(AGENT, 100),
      await rig.push.deadLetters.attempts(AGENT, 1000),
      rig.push.metrics.counters(),
    ]);
    // The test can see: the receivers did get the secrets, jobs and sealed texts were among what was read.
    expect(receivers[0]?.hits[0]?.headers.authorization).toContain(SENTINELS.token);
    expect(seen).toContain("baton-push");
    expect(seen).toContain("baton:{default}:secret:");
    expectClean(seen, "Redis");
    expectClean(JSON.stringify(rig.log), "the log");
    expectClean(shown, "what operators see");
    // The query of a url may hold a capability of its own.
    expect(JSON.stringify(rig.log) + shown).not.toContain(SENTINELS.query);
    for (const receiver of receivers) await receiver.close();
  });

  it("jobs name a lane and nothing else", async () => {
    const hook = await startPushReceiver({ answer: respond(503, { "retry-after": "60" }) });
    await rig.begin({ url: hook.url, token: SENTINELS.token });
    await hook.until(1);
    await quiet(100);
    const keys = ((await rig.connection.run("x", ["KEYS", "{baton-push}:lanes:lanes-*"])) as Buffer[]).map(
      String,
    );
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      const data = String(await rig.connection.run(key, ["HGET", key, "data"]));
      expect(Object.keys(JSON.parse(data)).sort()).toEqual(["agent", "turns"]);
      for (const turn of JSON.parse(data).turns) expect(Object.keys(turn).sort()).toEqual(["gen", "ref"]);
      // D2: BullMQ refuses ids with a colon, and ids that are numbers.
      expect(key.slice("{baton-push}:lanes:".length)).toMatch(/^lanes-1-[A-Za-z0-9_-]{22}-\d+$/);
    }
    await hook.close();
  });

  it("OW-43 a credential goes to its own origin only, also where records are mixed up", async () => {
    const [mine, thief] = [await startPushReceiver(), await startPushReceiver()];
    const id = await rig.begin({ url: mine.url, id: "c", token: SENTINELS.token });
    await mine.until(1);
    const key = `baton:{default}:push:${id}`;
    const [ref, text] = ((await rig.connection.run(key, ["HGETALL", key])) as Buffer[]).map(String);
    const moved = (text ?? "").replaceAll(String(mine.port), String(thief.port));
    await rig.connection.run(key, ["HSET", key, ref ?? "", moved]);
    await rig.claim(id);
    await quiet(300);
    expect(thief.accepted).toBe(0);
    expect(await rig.push.deadLetters.list(AGENT, { taskId: id, limit: 10 })).toMatchObject([
      { reason: "credential_unreadable", attempts: 0 },
    ]);
    await mine.close();
    await thief.close();
  });

  it("OW-45 a push whose credential was discarded is not sent without it", async () => {
    const hook = await startPushReceiver();
    const id = await rig.begin({ url: hook.url, token: SENTINELS.token });
    await hook.until(1);
    const keys = ((await rig.connection.run("x", ["KEYS", "baton:{default}:secret:*"])) as Buffer[]).map(
      String,
    );
    for (const key of keys) await rig.connection.run(key, ["DEL", key]);
    await rig.claim(id);
    await quiet(300);
    expect(hook.hits).toHaveLength(1);
    expect(await rig.push.deadLetters.list(AGENT, { taskId: id, limit: 10 })).toMatchObject([
      { reason: "credential_gone" },
    ]);
    await hook.close();
  });
});

describe("no secret in any answer", () => {
  let gateway: PushGateway;
  beforeAll(async () => {
    gateway = await startPushGateway();
  });
  afterAll(() => gateway.stop());

  it("OW-45, A2A-105 create, get, list, task, listing, stream and operator's views return the scheme at most", async () => {
    const hook = await startPushReceiver({ answer: respond(404) });
    const client = await gateway.vend({ push: true });
    const config = {
      url: hook.url,
      token: SENTINELS.token,
      authentication: { scheme: "Bearer", credentials: SENTINELS.credentials },
    };
    const sent = await gateway.send(client, { taskPushNotificationConfig: config });
    const taskId = sent.result.task.id as string;
    const made = await gateway.rpc(client, "CreateTaskPushNotificationConfig", { taskId, ...config });
    const { id } = made.result;
    const worker = await gateway.vendWorker();
    const claim = await gateway.work(worker, "Claim", {});
    await hook.until(2);
    await quiet(200);
    const answers = [
      sent,
      made,
      await gateway.rpc(client, "GetTaskPushNotificationConfig", { taskId, id }),
      await gateway.rpc(client, "ListTaskPushNotificationConfigs", { taskId }),
      await gateway.rpc(client, "GetTask", { id: taskId }),
      await gateway.rpc(client, "ListTasks", { includeArtifacts: true }),
      await claim.text(),
      await (await gateway.admin("GetPushStatus", {})).text(),
      await (await gateway.admin("ListPushAttempts", {})).text(),
      await (await gateway.admin("ListDeadLetters", {})).text(),
    ].map((answer) => JSON.stringify(answer));
    for (const answer of answers) expectClean(answer, "an answer");
    expect(made.result).toEqual({ id, taskId, url: hook.url, authentication: { scheme: "Bearer" } });
    // A refused registration does not echo them either.
    const refused = await gateway.rpc(client, "CreateTaskPushNotificationConfig", {
      taskId,
      ...config,
      url: "https://10.0.0.1/",
    });
    expectClean(JSON.stringify(refused), "a refusal");
    await hook.close();
  });

  it("the key is made once, readable by its owner only, and is not what is stored", async () => {
    const file = join(gateway.dataDir, "secret.key");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const key = readFileSync(file, "utf8").trim();
    expect(Buffer.from(key, "base64")).toHaveLength(32);
  });
});

describe("the key", () => {
  const config = (push: object) => parseConfig({ push });

  it("without a key that replicas share push is not offered, and asking for it is refused with a sentence", async () => {
    expect(await openSecretBox(config({}), false)).toBeUndefined();
    await expect(openSecretBox(config({ enabled: true }), false)).rejects.toThrow(SecretKeyError);
    await expect(openSecretBox(config({ enabled: true }), false)).rejects.toThrow(/BATON_SECRET_KEY/);
    expect(await openSecretBox(config({ enabled: false, secretKey: "nonsense" }), true)).toBeUndefined();
    await expect(openSecretBox(config({ secretKey: "nonsense" }), false)).rejects.toThrow(/32 random bytes/);
  });
});
