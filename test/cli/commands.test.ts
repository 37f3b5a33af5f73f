import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type CliResult,
  Lines,
  portsOf,
  resultOf,
  runCli,
  type ServeProcess,
  spawnCli,
  startServe,
} from "./processes.ts";

describe("the command line", () => {
  let folder: string;
  let dataDir: string;
  let serve: ServeProcess;
  let env: Record<string, string>;
  let submit: string;
  let worker: ReturnType<typeof spawnCli>;
  let workerLines: Lines;

  const admin = (...args: string[]): Promise<CliResult> =>
    runCli([...args, "--admin-url", serve.adminUrl], { cwd: folder, env: { BATON_DATA_DIR: dataDir } });
  const baton = (...args: string[]): Promise<CliResult> => runCli(args, { cwd: folder, env });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "baton-cli-"));
    dataDir = join(folder, "data");
    await writeFile(join(folder, "baton.yaml"), "retries: { maxAttempts: 1 }\nsend: { maxWaitSeconds: 5 }\n");
    serve = await startServe(dataDir, { cwd: folder });
    submit = (await admin("endpoint", "create", "--name", "client", "--submit")).stdout.trim();
    env = { BATON_URL: serve.url, BATON_CREDENTIAL: submit };
    const work = (await admin("endpoint", "create", "--name", "worker", "--work")).stdout.trim();
    const script =
      'read line; case $line in fail*) echo broken >&2; exit 3;; slow*) sleep 30;; esac; echo "$line, $BATON_ATTEMPT"';
    worker = spawnCli(["worker", "--exec", script, "--json", "--concurrency", "3"], {
      cwd: folder,
      env: { BATON_URL: serve.url, BATON_CREDENTIAL: work },
    });
    workerLines = new Lines(worker);
  });

  afterAll(async () => {
    worker?.kill("SIGKILL");
    await serve?.end("SIGKILL");
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  it("keeps the admin credential to this user", async () => {
    const mode = (await stat(join(dataDir, "admin.token"))).mode & 0o777;
    expect(mode).toBe(0o600);
  });

  it("sends, and a shell command does the work", async () => {
    const { code, stdout, stderr } = await baton("send", "hello");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^td_\S+ {2}completed/);
    expect(stdout).toContain("[result] hello, 1");
    const json = await baton("send", "again", "--json");
    const { task } = JSON.parse(json.stdout);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(task.artifacts[0].parts[0].text).toBe("again, 1\n");
  });

  it("sends what stands on standard input, files and data", async () => {
    await writeFile(join(folder, "note.txt"), "contents");
    const piped = await runCli(["send", "-", "--json"], { cwd: folder, env, input: "from a pipe\n" });
    expect(JSON.parse(piped.stdout).task.artifacts[0].parts[0].text).toBe("from a pipe, 1\n");
    const args = ["send", "see", "--data", '{"a":[1]}', "--file", "note.txt", "--json"];
    const { task } = JSON.parse((await baton(...args)).stdout);
    expect(task.history[0].parts).toEqual([
      { text: "see" },
      { data: { a: [1] }, mediaType: "application/json" },
      { raw: Buffer.from("contents").toString("base64"), filename: "note.txt" },
    ]);
  });

  it("streams, and ends with exit code 1 when the task fails", async () => {
    const good = await baton("send", "--stream", "--json", "stream");
    const events = good.stdout
      .trim()
      .split("\n")
      .map((line) => Object.keys(JSON.parse(line))[0]);
    expect(events[0]).toBe("task");
    expect(events).toContain("artifactUpdate");
    expect(events.at(-1)).toBe("statusUpdate");
    expect(good.code).toBe(0);
    const bad = await baton("send", "--stream", "fail please");
    expect(bad.code).toBe(1);
    expect(bad.stdout).toContain("failed: The worker could not finish this attempt.");
    const seen = await workerLines.find((line) => line.includes('"failed"'));
    expect(JSON.parse(seen).error).toContain("the command ended with 3: broken");
  });

  it("gets, lists, watches and cancels tasks", async () => {
    const sent = JSON.parse((await baton("send", "slow", "--return-immediately", "--json")).stdout);
    const id: string = sent.task.id;
    const watching = resultOf(spawnCli(["task", "watch", id], { cwd: folder, env }));
    await workerLines.find((line) => line.includes(id) && line.includes('"claimed"'));
    const shown = await baton("task", "get", id);
    expect(shown.stdout).toContain(`${id}  working`);
    expect(shown.stderr).toContain(`baton task watch ${id}`);
    const listed = await baton("task", "list", "--state", "working", "--json");
    expect(JSON.parse(listed.stdout).tasks.map((task: { id: string }) => task.id)).toEqual([id]);
    expect((await baton("task", "list")).stdout).toMatch(/^TASK +STATE +SINCE +SAYS\n/);
    const canceled = await baton("task", "cancel", id, "--reason", "no more need");
    expect([canceled.code, canceled.stdout]).toEqual([0, expect.stringContaining(`${id}  canceled`)]);
    const watched = await watching;
    expect(watched.code).toBe(1);
    expect(watched.stdout).toContain("canceled");
    // Long before the command's own end: it was ended with the task.
    await workerLines.find((line) => line.includes(id) && line.includes('"dropped"'));
    const over = await baton("task", "watch", id);
    expect([over.code, over.stdout]).toEqual([1, expect.stringContaining("canceled")]);
  });

  it("SB-57 shows a credential once, on standard output alone, and lists endpoints without", async () => {
    const args = ["endpoint", "create", "--name", "temp", "--submit", "--no-streaming", "--expires-in", "1h"];
    const made = await admin(...args, "--default-lease", "5m", "--queue", "default");
    const credential = made.stdout.trim();
    expect(credential).toMatch(/^\S{20,}$/);
    const id = made.stderr.split("  ")[0] ?? "";
    const shown = await admin("endpoint", "get", id, "--json");
    expect(JSON.parse(shown.stdout).endpoint).toMatchObject({
      name: "temp",
      defaultLease: "300s",
      scope: { queues: ["default"], verbs: ["create_for"] },
    });
    const listed = await admin("endpoint", "list");
    expect(listed.stdout).toContain(id);
    expect(listed.stdout + shown.stdout).not.toContain(credential);
    expect((await admin("endpoint", "delete", id)).code).toBe(1);
    expect((await admin("endpoint", "revoke", id)).stdout).toContain("is revoked");
    const refused = await runCli(["task", "list"], {
      cwd: folder,
      env: { ...env, BATON_CREDENTIAL: credential },
    });
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining("baton endpoint create")]);
    expect((await admin("endpoint", "delete", id)).code).toBe(0);
    expect((await admin("endpoint", "get", id)).code).toBe(1);
  });

  it("answers each fault with its exit code and what to do", async () => {
    const cases: [args: string[], environment: Record<string, string>, code: number, says: RegExp][] = [
      [["send", "x"], { BATON_URL: serve.url }, 4, /No credential was given\.\nVend one/],
      [["send", "x"], { ...env, BATON_CREDENTIAL: "wrong" }, 4, /does not accept the credential/],
      [
        ["send", "x"],
        { ...env, BATON_URL: "http://127.0.0.1:1" },
        3,
        /Cannot reach http:\/\/127\.0\.0\.1:1.*\n.*baton serve/,
      ],
      [["send", "x"], { ...env, BATON_URL: "127.0.0.1:1" }, 2, /is not an address/],
      [["send"], env, 2, /nothing to send/],
      [["send", "--data", "{", "x"], env, 2, /--data/],
      [["send", "x", "--queue", "other"], env, 4, /does not permit this/],
      [["send", "x", "--task", "td_none"], env, 1, /TASK_NOT_FOUND/],
      [["task", "get", "td_none"], env, 1, /TASK_NOT_FOUND/],
      [["task", "list", "--state", "odd"], env, 2, /Give submitted/],
      [["task", "watch", "td_none"], env, 1, /TASK_NOT_FOUND/],
      [["worker"], env, 2, /--exec or --echo/],
      [["worker", "--echo"], env, 4, /does not permit this/],
      [["endpoint", "create", "--name", "x"], {}, 2, /--submit, --work or --verb/],
      [["endpoint", "create", "--submit"], {}, 2, /--name/],
      [["endpoint", "list"], { BATON_DATA_DIR: join(folder, "none") }, 4, /admin credential/],
      [["config", "check"], { BATON_PORT: "many" }, 2, /listen\.port/],
      [["nonsense"], {}, 2, /unknown command/],
    ];
    for (const [args, environment, code, says] of cases) {
      const result = await runCli(args, { cwd: folder, env: environment });
      expect({ args, code: result.code }).toEqual({ args, code });
      expect(result.stderr).toMatch(says);
      expect(result.stdout).toBe("");
    }
  });

  it("checks and shows the configuration without its secrets", async () => {
    const token = "a-token-of-enough-length";
    const options = {
      cwd: folder,
      env: { BATON_ADMIN_TOKEN: token, BATON_REDIS_URL: "redis://u:hidden@h:1" },
    };
    expect((await runCli(["config", "check"], options)).stdout).toContain(
      "The configuration is good. Agents: default.",
    );
    const shown = await runCli(["config", "show"], options);
    expect(shown.stdout).toContain("maxAttempts: 1");
    expect(shown.stdout).not.toMatch(/hidden|a-token/);
    const schema = JSON.parse((await runCli(["config", "schema"], options)).stdout);
    expect(schema.properties.listen.type).toBe("object");
  });

  it("prints help and version", async () => {
    const help = await runCli(["--help"], { cwd: folder });
    expect([help.code, help.stdout]).toEqual([0, expect.stringContaining("Exit codes: 0 done; 1")]);
    const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
    expect((await runCli(["--version"], { cwd: folder })).stdout.trim()).toBe(version);
  });

  it("lets go of its clients on SIGTERM and ends with 0, and a watch goes on with the next gateway", async () => {
    const own = join(folder, "own");
    let gateway = await startServe(own, { cwd: folder });
    const vend = async (kind: string) =>
      (
        await runCli(["endpoint", "create", "--name", "x", kind, "--admin-url", gateway.adminUrl], {
          cwd: folder,
          env: { BATON_DATA_DIR: own },
        })
      ).stdout.trim();
    const client = { BATON_URL: gateway.url, BATON_CREDENTIAL: await vend("--submit") };
    const doer = { BATON_URL: gateway.url, BATON_CREDENTIAL: await vend("--work") };
    const sent = await runCli(["send", "x", "--return-immediately", "--json"], { cwd: folder, env: client });
    const watch = spawnCli(["task", "watch", JSON.parse(sent.stdout).task.id], { cwd: folder, env: client });
    const watched = resultOf(watch);
    await new Promise((resolve) => watch.stdout?.once("data", resolve));
    expect(await gateway.end("SIGTERM")).toBe(0);
    gateway = await startServe(own, { cwd: folder, ports: portsOf(gateway) });
    const echo = spawnCli(["worker", "--echo"], { cwd: folder, env: doer });
    const echoed = resultOf(echo);
    const { code, stdout, stderr } = await watched;
    expect([code, stdout]).toEqual([0, expect.stringContaining("completed")]);
    expect(stderr).toContain("opening it again");
    // The worker waits for more work by now, which must not hold up the gateway.
    const began = Date.now();
    expect(await gateway.end("SIGINT")).toBe(0);
    expect(Date.now() - began).toBeLessThan(5_000);
    echo.kill("SIGTERM");
    expect((await echoed).code).toBe(0);
  });
});
