/**
 * One gateway as it is run, with everything that writes anywhere turned on, and a search of all of it for whatever was
 * secret: Redis with its files, the log, traces, metrics and every answer.
 */
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as audit from "../../gen/baton/admin/v1/audit_pb.js";
import * as endpoint from "../../gen/baton/admin/v1/endpoint_pb.js";
import * as grant from "../../gen/baton/admin/v1/grant_pb.js";
import * as push from "../../gen/baton/admin/v1/push_pb.js";
import * as queue from "../../gen/baton/admin/v1/queue_pb.js";
import * as stats from "../../gen/baton/admin/v1/stats_pb.js";
import * as task from "../../gen/baton/admin/v1/task_pb.js";
import * as todo from "../../gen/baton/admin/v1/todo_pb.js";
import { Lines, spawnCli } from "../cli/processes.ts";
import { createVendor } from "../gateway.ts";
import { startTestRedis, type TestRedis } from "../redis-server.ts";
import { type Collector, startCollector } from "../telemetry/collector.ts";
import { dumpRedis } from "./dump-redis.ts";
import { type PushReceiver, quiet, respond, startPushReceiver, testAuthority } from "./receiver.ts";
import { SECRET_KEY } from "./rig.ts";

const ADMIN_TOKEN = "sentinel-admin-token-4b1f0c77";
const SECRETS = {
  token: "sentinel-token-7f3a9c",
  credentials: "sentinel-credentials-51be02",
  query: "sentinel-query-99d1",
};
const SERVICES = [audit, endpoint, grant, push, queue, stats, task, todo].flatMap((file) =>
  Object.values(file as Record<string, object>).filter(
    (value): value is DescService => "kind" in value && value.kind === "service",
  ),
);

describe("OW-45, OW-46, S5 everything that is written or answered", () => {
  let folder: string;
  let redis: TestRedis;
  let collector: Collector;
  let child: ChildProcess | undefined;
  let serve: { readonly url: string; readonly adminUrl: string };
  let hooks: PushReceiver[];
  let output = "";
  const answers: string[] = [];
  /** Every secret of this run by name: also what the gateway itself handed out. */
  const secrets = new Map<string, string>(
    Object.entries({ ...SECRETS, admin: ADMIN_TOKEN, key: SECRET_KEY }),
  );

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "baton-search-"));
    redis = await startTestRedis();
    collector = await startCollector();
    hooks = await Promise.all([
      startPushReceiver(),
      startPushReceiver({ answer: respond(500) }),
      startPushReceiver({
        // One that echoes what it got.
        answer: (hit, response) => response.writeHead(400).end(JSON.stringify(hit.headers)),
      }),
    ]);
    writeFileSync(join(folder, "ca.pem"), testAuthority().ca);
    const config = join(folder, "baton.yaml");
    writeFileSync(
      config,
      JSON.stringify({
        redis: { url: redis.server.url },
        admin: { token: ADMIN_TOKEN },
        telemetry: { log: { level: "debug" }, traces: { otlpUrl: collector.url } },
        push: {
          secretKey: SECRET_KEY,
          caFiles: [join(folder, "ca.pem")],
          allow: [{ cidr: "127.0.0.1/32", ports: ["1024-65535"] }],
          attempts: 2,
          baseSeconds: 0.02,
          capSeconds: 0.1,
          host: { perSecond: 0 },
        },
      }),
    );
    child = spawnCli([
      ...["serve", "--json", "--config", config, "--port", "0", "--admin-port", "0"],
      ...["--data-dir", join(folder, "data")],
    ]);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    const line = await new Lines(child).find((text) => text.includes('"adminUrl"'), 60_000);
    serve = JSON.parse(line) as { url: string; adminUrl: string };
  }, 90_000);
  afterAll(async () => {
    if (child !== undefined) {
      const closed = new Promise((resolve) => child?.once("close", resolve));
      child.kill("SIGTERM");
      await closed;
    }
    for (const hook of hooks ?? []) await hook.close();
    await collector?.close();
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function post(url: string, token: string, body: object): Promise<unknown> {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}`, "a2a-version": "1.0" },
      body: JSON.stringify(body),
    });
    const text = `${JSON.stringify([...response.headers])}\n${await response.text()}`;
    answers.push(text);
    return JSON.parse(text.slice(text.indexOf("\n") + 1));
  }
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  const rpc = (token: string, method: string, params: object): Promise<any> =>
    post(`${serve.url}/`, token, { jsonrpc: "2.0", id: 1, method, params });
  const admin = (service: string, method: string, body: object) =>
    post(`${serve.adminUrl}/${service}/${method}`, ADMIN_TOKEN, body);

  it("holds no token, credential, key or query of a receiver's address in clear", async () => {
    const vendor = createVendor(serve.adminUrl, ADMIN_TOKEN);
    const [client, worker] = [await vendor.vend({ push: true }), await vendor.vendWorker()];
    secrets.set("the client's credential", client).set("the worker's credential", worker);
    const ids: string[] = [];
    for (const { url } of hooks) {
      const config = {
        url: `${url}?q=${SECRETS.query}`,
        token: SECRETS.token,
        authentication: { scheme: "Bearer", credentials: SECRETS.credentials },
      };
      const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "please" }] };
      const { result } = await rpc(client, "SendMessage", {
        message,
        configuration: { returnImmediately: true, taskPushNotificationConfig: { url, token: SECRETS.token } },
      });
      const id = result.task.id as string;
      ids.push(id);
      const made = await rpc(client, "CreateTaskPushNotificationConfig", { taskId: id, ...config });
      await rpc(client, "GetTaskPushNotificationConfig", { taskId: id, id: made.result.id });
      await rpc(client, "ListTaskPushNotificationConfigs", { taskId: id });
      // Refused, with the secrets in the request: neither says them back.
      await rpc(client, "CreateTaskPushNotificationConfig", {
        taskId: id,
        ...config,
        url: "http://10.0.0.1/",
      });
      await rpc(client, "CreateTaskPushNotificationConfig", {
        taskId: id,
        ...config,
        token: `${SECRETS.token}\r\n`,
      });
      await post(`${serve.url}/baton.worker.v1.WorkerService/ClaimById`, worker, { id });
      await post(`${serve.url}/baton.worker.v1.WorkerService/Complete`, worker, { id });
    }
    await hooks[0]?.until(5);
    await hooks[1]?.until(6);
    await hooks[2]?.until(5);
    await quiet(1500);
    await rpc(client, "ListTasks", { includeArtifacts: true });
    // Every read of every admin service; what needs an id gets one of a task, an endpoint or a dead letter.
    const letters = (await admin("baton.admin.v1.PushService", "ListDeadLetters", {})) as {
      deadLetters?: { id: string }[];
    };
    const endpoints = (await admin("baton.admin.v1.EndpointService", "ListEndpoints", {})) as {
      endpoints: { id: string }[];
    };
    const reads = SERVICES.flatMap((service) =>
      service.methods
        .filter(({ name }) => /^(Get|List|Search)/.test(name))
        .map(({ name }) => [service.typeName, name]),
    ) as [string, string][];
    expect(reads.length).toBeGreaterThanOrEqual(15);
    const known = [...ids, ...endpoints.endpoints, ...(letters.deadLetters ?? [])].map((item) =>
      typeof item === "string" ? item : item.id,
    );
    for (const [service, method] of reads) {
      const bodies = /^Get(?!Stats|PushStatus)/.test(method) ? known.map((id) => ({ id })) : [{}];
      for (const body of bodies) await admin(service, method, body);
    }
    const metrics = await (await fetch(`${serve.adminUrl}/metrics`)).text();
    const card = await (await fetch(`${serve.url}/.well-known/agent-card.json`)).text();
    await collector.until((spans) => spans.length > 5);
    const connection = await redis.connect();
    await connection.run("x", ["BGREWRITEAOF"]);
    const places: Record<string, string> = {
      Redis: await dumpRedis(connection),
      "the files of Redis": filesOf(join(redis.server.socketPath, "..")),
      "the log": output,
      traces: collector.text(),
      metrics,
      cards: card,
      answers: answers.join("\n"),
    };
    // The search can see: each place holds what it is known to hold.
    expect(
      hooks[0]?.hits.some(({ headers }) => String(headers.authorization).includes(SECRETS.credentials)),
    ).toBe(true);
    expect(places.Redis).toContain("baton:{default}:task:");
    expect(places.Redis).toContain("{baton-push}:");
    expect(places["the files of Redis"]).toContain("baton:{default}:task:");
    expect(places["the log"]).toContain("push");
    expect(places.traces).toContain("baton");
    expect(metrics).toContain("baton_push_attempts_total");
    expect(places.answers).toContain("deadLetters");
    const found = Object.entries(places).flatMap(([place, text]) =>
      [...secrets].flatMap(([name, secret]) =>
        formsOf(secret).flatMap((form) =>
          text.includes(form)
            ? [`${name} in ${place} as ${form}: …${text.slice(text.indexOf(form) - 80, text.indexOf(form))}`]
            : [],
        ),
      ),
    );
    // The client's own query: it wrote the address, which it may read again (A2A-105), and Redis keeps it to send there.
    const allowed = /^query in (Redis|the files of Redis|answers) /;
    expect(found, "what may be found is, so the search works").toContainEqual(expect.stringMatching(allowed));
    expect(found.filter((line) => !allowed.test(line))).toEqual([]);
  }, 90_000);
});

/** How a secret could stand in a text. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    bytes.toString("base64").replace(/=+$/, ""),
    bytes.toString("base64url"),
    bytes.toString("hex"),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
  ];
}

function filesOf(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => join(folder, file))
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, "latin1"))
    .join("\n");
}
