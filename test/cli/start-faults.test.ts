import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAuthority } from "../egress/certificates.ts";
import { runCli } from "./processes.ts";

describe("baton serve that cannot start", () => {
  let folder: string;
  const authority = createAuthority();
  const one = authority.issue({ names: ["localhost"] });
  const other = authority.issue({ names: ["localhost"] });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "baton-start-"));
    await writeFile(join(folder, "cert.pem"), one.cert);
    await writeFile(join(folder, "other.key"), other.key);
    await writeFile(join(folder, "junk.pem"), "junk");
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const serve = async (document: object, env: Record<string, string> = {}) => {
    const config = join(folder, "baton.yaml");
    const dataDir = join(folder, "data");
    await writeFile(config, JSON.stringify({ dataDir, admin: { port: 0 }, ...document }));
    const result = await runCli(["serve", "--config", config], { cwd: folder, env });
    // Nothing was begun: the TLS files are looked at before a Redis is started.
    expect(existsSync(dataDir)).toBe(false);
    expect(result.code).toBe(2);
    return result.stderr;
  };
  const tls = (certFile: string, keyFile: string) => ({
    listen: { port: 0, tls: { certFile: join(folder, certFile), keyFile: join(folder, keyFile) } },
  });

  it("names setting and file of what is missing, all at once", async () => {
    const said = await serve(tls("none.pem", "none.key"));
    expect(said).toContain(`listen.tls.certFile: ${join(folder, "none.pem")} cannot be read (ENOENT)`);
    expect(said).toContain(`listen.tls.keyFile: ${join(folder, "none.key")} cannot be read (ENOENT)`);
  });

  it("names the key that is of another certificate, and a file that holds neither", async () => {
    expect(await serve(tls("cert.pem", "other.key"))).toContain(
      `listen.tls.keyFile: ${join(folder, "other.key")} is not the key of the first certificate in`,
    );
    const said = await serve(tls("junk.pem", "junk.pem"));
    expect(said).toContain(
      `listen.tls.certFile: ${join(folder, "junk.pem")} holds no certificate in PEM form`,
    );
    expect(said).toContain(
      `listen.tls.keyFile: ${join(folder, "junk.pem")} holds no private key in PEM form`,
    );
  });

  it("names the entry of the egress policy that is at fault", async () => {
    const allow = [{ cidr: "10.0.0.0/8" }, { cidr: "0.0.0.0/0" }];
    const said = await serve({ push: { allow, caFiles: [join(folder, "junk.pem")] } });
    expect(said).toContain('push.allow.1: allow entry "0.0.0.0/0" would switch the egress guard off');
    expect(said).toContain(`push.caFiles.0: ${join(folder, "junk.pem")} holds no certificate`);
  });

  it("refuses the name __proto__, which was dropped without a word", async () => {
    const config = join(folder, "proto.yaml");
    await writeFile(config, "agents: { __proto__: {}, default: {} }\nlissten: 1\n");
    const { code, stderr } = await runCli(["config", "check", "--config", config]);
    expect(code).toBe(2);
    expect(stderr).toContain("agents.__proto__: the name is reserved");
    expect(stderr).toContain('Unrecognized key: "lissten"');
  });

  it.each(["/proc/baton/data", "/dev/null/data"])(
    "says that %s cannot be made, and does not hang",
    async (dir) => {
      const { code, stderr } = await runCli(["serve", "--data-dir", dir, "--port", "0", "--admin-port", "0"]);
      expect(code).toBe(2);
      expect(stderr).toContain(`dataDir: ${dir} cannot be made`);
    },
  );
});
