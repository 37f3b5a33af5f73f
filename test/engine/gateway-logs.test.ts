import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { createClient } from "@connectrpc/connect";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { EndpointService } from "../../gen/baton/admin/v1/endpoint_pb.js";
import { parseConfig } from "../../src/config/load.ts";
import { SUBMIT_VERBS, WORK_VERBS } from "../../src/domain/caller.ts";
import { startGateway } from "../../src/server/gateway.ts";
import { freePorts, Servers } from "../cluster/servers.ts";
import { agentSays, bearer, senderOf, workerOf } from "./client.ts";

describe("the log", () => {
  it("SB-56 tells of what went wrong, as JSON, and never holds a credential, a lease token or a payload", async () => {
    const lines: string[] = [];
    const sink = new Writable({
      write(chunk, _encoding, done) {
        lines.push(...String(chunk).split("\n").filter(Boolean));
        done();
      },
    });
    const servers = new Servers();
    const [port = 0] = await freePorts(1);
    const redis = await servers.start(port, ["--appendonly", "yes"]);
    const dataDir = await mkdtemp(join(tmpdir(), "baton-"));
    const config = parseConfig({
      listen: { port: 0 },
      admin: { port: 0 },
      dataDir,
      redis: { url: `redis://127.0.0.1:${port}` },
    });
    const gateway = await startGateway(config, { log: pino({ level: "trace" }, sink) });
    try {
      const admin = createClient(EndpointService, bearer(gateway.adminUrl, gateway.adminToken));
      const vend = async (verbs: readonly string[]) =>
        (
          await admin.createEndpoint({
            name: "x",
            scope: { queues: ["default"], verbs: [...verbs], streaming: true },
          })
        ).credential;
      const [token, work] = await Promise.all([vend(SUBMIT_VERBS), vend(WORK_VERBS)]);
      const sender = senderOf(gateway.url, token);
      const worker = workerOf(gateway.url, work);
      const { id } = await sender.send("SECRET-PAYLOAD in the message");
      const { leaseToken } = await worker.claimById({ id, requireFence: true });
      const failing = [
        sender.get("td_never"),
        senderOf(gateway.url, `${token.slice(0, -1)}x`).get(id),
        senderOf(gateway.url, work).send("SECRET-PAYLOAD with the wrong verb"),
        worker.complete({ id, leaseToken: `${leaseToken.slice(0, -1)}x` }),
        sender.send("SECRET-PAYLOAD elsewhere", { metadata: { queue: "other" } }),
        fetch(`${gateway.url}/tasks`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}` },
          body: "SECRET-PAYLOAD{",
        }).then(() => Promise.reject(new Error("answered"))),
      ];
      for (const outcome of await Promise.allSettled(failing)) expect(outcome.status).toBe("rejected");
      await worker.fail({
        id,
        leaseToken,
        message: agentSays("SECRET-PAYLOAD of the failure"),
        permanent: true,
      });
      // A fault of our own: a record that is not one.
      const history = `baton:{default}:task:${id}:history`;
      await redis.ask("DEL", history);
      await redis.ask("HSET", history, "SECRET-PAYLOAD", "in the store");
      const broken = await sender.get(id).catch((error) => error as Error);
      expect(String(broken)).toContain("internal error");
      expect(String(broken)).not.toMatch(/WRONGTYPE|SECRET/);
      // And the store goes away under a call.
      await redis.kill();
      await sender.send("SECRET-PAYLOAD to nobody").catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 300));
      await redis.restart();

      const entries = lines.map(
        (line) => JSON.parse(line) as { level: number; msg: string; err?: { message: string } },
      );
      expect(entries.some(({ level, err }) => level >= 50 && /WRONGTYPE/.test(err?.message ?? ""))).toBe(
        true,
      );
      expect(
        entries.some(({ level, err }) => level >= 40 && /ECONNREFUSED|closed/i.test(err?.message ?? "")),
      ).toBe(true);
      const text = lines.join("\n");
      for (const secret of ["SECRET-PAYLOAD", "sbk_", token, work, leaseToken, gateway.adminToken]) {
        expect(text.includes(secret), secret.slice(0, 14)).toBe(false);
      }
    } finally {
      await gateway.stop(500);
      await servers.stop();
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
