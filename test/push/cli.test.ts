import { type ChildProcess, spawn } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { selfSigned } from "../../src/cli/receiver/self-signed.ts";
import { type PushGateway, startPushGateway } from "./gateway.ts";
import { quiet, respond, startPushReceiver } from "./receiver.ts";

const MAIN = new URL("../../src/cli/main.ts", import.meta.url).pathname;

const folder = mkdtempSync(join(tmpdir(), "baton-push-cli-"));
const children: ChildProcess[] = [];
let gateway: PushGateway;

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function spawnCli(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: {
      ...process.env,
      BATON_ADMIN_URL: gateway?.adminUrl ?? "",
      BATON_ADMIN_TOKEN: gateway?.adminToken ?? "",
    },
  });
  children.push(child);
  return child;
}

async function cli(
  ...args: string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const child = spawnCli(args);
  let [out, err] = ["", ""];
  child.stdout?.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    err += chunk;
  });
  const code = await new Promise<number>((resolve) => child.on("close", (status) => resolve(status ?? -1)));
  return { code, out, err };
}

describe("baton push receiver", () => {
  it("makes a certificate for localhost that verifies, and nothing else", () => {
    const { cert } = selfSigned();
    const parsed = new X509Certificate(cert);
    expect(parsed.checkHost("localhost")).toBe("localhost");
    expect(parsed.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(parsed.checkIP("::1")).toBe("::1");
    expect(parsed.checkHost("example.com")).toBeUndefined();
    expect(parsed.ca).toBe(true);
    expect(parsed.verify(parsed.publicKey)).toBe(true);
  });

  it("gets pushes of a gateway that trusts it, checks the token, tells repetitions", async () => {
    const caFile = join(folder, "push-receiver.pem");
    const child = spawnCli(["push", "receiver", "--port", "0", "--token", "right", "--json"]);
    const url = await new Promise<string>((resolve) =>
      child.stderr?.on("data", (chunk) => {
        const found = /receives pushes at (\S+)/.exec(String(chunk))?.[1];
        if (found !== undefined) resolve(found);
      }),
    );
    // biome-ignore lint/suspicious/noExplicitAny: lines of JSON
    const lines: any[] = [];
    if (child.stdout === null) throw new Error("no output");
    createInterface(child.stdout).on("line", (line) => lines.push(JSON.parse(line)));
    expect(readFileSync(caFile, "utf8")).toContain("BEGIN CERTIFICATE");
    gateway = await startPushGateway({ caFiles: [caFile], attempts: 2 });
    const client = await gateway.vend({ push: true });
    for (const token of ["right", "wrong"]) {
      await gateway.send(client, { taskPushNotificationConfig: { url, token } });
    }
    for (let i = 0; i < 200 && lines.length < 2; i++) await quiet(25);
    expect(
      lines.map(({ authorized, status, kind, state }) => [authorized, status, kind, state]).sort(),
    ).toEqual([
      [false, 401, "statusUpdate", "TASK_STATE_SUBMITTED"],
      [true, 204, "statusUpdate", "TASK_STATE_SUBMITTED"],
    ]);
    child.kill("SIGTERM");
    const code = await new Promise((resolve) => child.on("exit", resolve));
    expect(code).toBe(0);
  });
});

describe("baton push list, inspect, replay, purge, status", () => {
  beforeAll(async () => {
    gateway ??= await startPushGateway({ attempts: 2 });
  });

  it("FR-54 an operator sees a dead letter, sends it again, and removes another", async () => {
    await gateway.stop();
    gateway = await startPushGateway({ attempts: 1 });
    const hook = await startPushReceiver({ answer: respond(500) });
    const client = await gateway.vend({ push: true });
    for (let i = 0; i < 2; i++)
      await gateway.send(client, { taskPushNotificationConfig: { url: hook.url, token: "tok" } });
    await hook.until(2);
    await quiet(100);
    const list = await cli("push", "list", "--json");
    const letters = JSON.parse(list.out).deadLetters;
    expect(letters).toHaveLength(2);
    const [one, two] = letters.map(({ id }: { id: string }) => id);
    expect((await cli("push", "list")).out).toContain("status_retryable");
    const shown = await cli("push", "inspect", one);
    expect(shown.out).toContain("HTTP 500");
    expect(shown.out).toContain("egress guard: allowed (address: allowed)");
    expect(shown.out).not.toContain("/hook");
    expect((await cli("push", "status")).out).toContain("2 given up");
    hook.answer = respond(204);
    expect((await cli("push", "replay", one)).out).toContain("1 are on their way");
    await hook.until(3);
    expect((await cli("push", "purge", two)).out).toContain("1 are removed");
    expect(JSON.parse((await cli("push", "list", "--since", "1h", "--json")).out).deadLetters ?? []).toEqual(
      [],
    );
    expect((await cli("push", "inspect", two)).code).toBe(1);
    expect((await cli("push", "replay")).code).toBe(2);
    expect((await cli("push", "replay", "--since", "yesterday")).code).toBe(2);
    await hook.close();
  }, 120_000);
});
