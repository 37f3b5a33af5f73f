import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { runCli } from "../cli/processes.ts";
import { createAuthority } from "../egress/certificates.ts";
import { type Receiver, startReceiver } from "../egress/receiver.ts";

const CARD = {
  name: "Agent",
  description: "Does things.",
  version: "1.0.0",
  supportedInterfaces: [{ url: "https://a.example", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  capabilities: { streaming: true },
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
  securityRequirements: [{ schemes: { bearer: {} } }],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
};

let folder: string;
let receiver: Receiver;
const authority = createAuthority();
const at = (name: string) => join(folder, name);
let published = "{}";

async function baton(...args: string[]) {
  return runCli(["card", ...args], { cwd: folder });
}

/** Signs what stands in `from` with a key, and writes it to `to`. */
async function sign(from: string, to: string, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await baton("sign", from, ...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  await writeFile(at(to), stdout);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-card-"));
  await writeFile(at("card.json"), JSON.stringify(CARD));
  for (const name of ["one", "two"]) {
    const { privateKey } =
      name === "one" ? generateKeyPairSync("ed25519") : generateKeyPairSync("ec", { namedCurve: "P-256" });
    await writeFile(at(`${name}.pem`), privateKey.export({ type: "pkcs8", format: "pem" }));
    const { stdout } = await baton("keys", "--key", `${name}.pem`, "--kid", name);
    await writeFile(at(`${name}.jwks`), stdout);
  }
  await writeFile(at("ca.pem"), authority.ca);
  receiver = await startReceiver({
    tls: authority.issue({ addresses: ["127.0.0.1"] }),
    handler: (request, response) => {
      response.writeHead(request.url === "/keys" ? 200 : 302, { location: "/keys" }).end(published);
    },
  });
  published = await readFile(at("one.jwks"), "utf8");
});
afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  receiver.hits.length = 0;
});

describe("baton card", () => {
  it("A2A-184 A2A-185 signs and verifies, and notices a change", async () => {
    await sign("card.json", "signed.json", "--key", "one.pem", "--kid", "one");
    const good = await baton("verify", "signed.json", "--keys", "one.jwks");
    expect([good.code, good.stdout]).toEqual([0, expect.stringMatching(/one +EdDSA +good/)]);
    const changed = {
      ...JSON.parse(await readFile(at("signed.json"), "utf8")),
      description: "Does other things.",
    };
    await writeFile(at("changed.json"), JSON.stringify(changed));
    const bad = await baton("verify", "changed.json", "--keys", "one.jwks");
    expect([bad.code, bad.stdout, bad.stderr]).toEqual([
      1,
      expect.stringMatching(/does not match the card/),
      expect.stringMatching(/No signature is good/),
    ]);
  });

  it("A2A-189 adds a second key's signature to the first, and either key is enough", async () => {
    await sign("card.json", "first.json", "--key", "one.pem", "--kid", "one");
    await sign("first.json", "both.json", "--key", "two.pem", "--kid", "two");
    for (const keys of ["one.jwks", "two.jwks"]) {
      const { code, stdout } = await baton("verify", "both.json", "--keys", keys, "--json");
      const { valid, signatures } = JSON.parse(stdout);
      expect([code, valid]).toEqual([0, true]);
      expect(new Set(signatures.map((each: { kid: string }) => each.kid))).toEqual(new Set(["one", "two"]));
    }
  });

  it("A2A-187 a key that has expired verifies nothing", async () => {
    await sign("card.json", "signed.json", "--key", "one.pem", "--kid", "one");
    const set = JSON.parse(await readFile(at("one.jwks"), "utf8"));
    await writeFile(at("old.jwks"), JSON.stringify({ keys: [{ ...set.keys[0], exp: 1_700_000_000 }] }));
    const { code, stdout } = await baton("verify", "signed.json", "--keys", "old.jwks");
    expect([code, stdout]).toEqual([1, expect.stringMatching(/the key has expired/)]);
  });

  it("A2A-188 follows jku to named hosts only, through the guard", async () => {
    const host = `127.0.0.1:${receiver.port}`;
    await sign(
      "card.json",
      "signed.json",
      "--key",
      "one.pem",
      "--kid",
      "one",
      "--jku",
      `https://${host}/keys`,
    );
    const hole = ["--allow", `127.0.0.1/32:${receiver.port}`, "--ca", "ca.pem"];
    const unnamed = await baton("verify", "signed.json", ...hole);
    expect([unnamed.code, unnamed.stdout]).toEqual([1, expect.stringMatching(/not at a trusted host/)]);
    const guarded = await baton("verify", "signed.json", "--jku-host", host, "--ca", "ca.pem");
    expect([guarded.code, guarded.stdout]).toEqual([1, expect.stringMatching(/cannot be fetched/)]);
    expect(receiver.accepted()).toBe(0);
    const good = await baton("verify", "signed.json", "--jku-host", host, ...hole);
    expect([good.code, good.stdout]).toEqual([0, expect.stringMatching(/good/)]);
    // Two signatures of one key: the keys are fetched once.
    expect(receiver.hits.map(({ url }) => url)).toEqual(["/keys"]);
  });

  it("A2A-188 follows no redirect of a key address, and takes none without TLS", async () => {
    const host = `127.0.0.1:${receiver.port}`;
    const hole = ["--jku-host", host, "--allow", `127.0.0.1/32:${receiver.port}`, "--ca", "ca.pem"];
    await sign(
      "card.json",
      "moved.json",
      "--key",
      "one.pem",
      "--kid",
      "one",
      "--jku",
      `https://${host}/moved`,
    );
    expect((await baton("verify", "moved.json", ...hole)).stdout).toMatch(/cannot be fetched/);
    await sign("card.json", "plain.json", "--key", "one.pem", "--kid", "one", "--jku", `http://${host}/keys`);
    expect((await baton("verify", "plain.json", ...hole)).stdout).toMatch(/not at a trusted host/);
    expect(receiver.hits.map(({ url }) => url)).toEqual(["/moved"]);
  });

  it("A2A-183 refuses a card that lacks what every card has, and ignores what it does not know", async () => {
    const { skills: _, ...lacking } = CARD;
    await writeFile(at("lacking.json"), JSON.stringify(lacking));
    const refused = await baton("sign", "lacking.json", "--key", "one.pem", "--kid", "one");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/skills missing/)]);
    await sign("card.json", "signed.json", "--key", "one.pem", "--kid", "one");
    const extra = { ...JSON.parse(await readFile(at("signed.json"), "utf8")), "x-vendor": { a: 1 } };
    await writeFile(at("extra.json"), JSON.stringify(extra));
    expect((await baton("verify", "extra.json", "--keys", "one.jwks")).code).toBe(0);
  });

  it("A2A-185 says what is wrong with a key, and an unsigned card is not good", async () => {
    await writeFile(at("bad.pem"), "nonsense");
    const bad = await baton("sign", "card.json", "--key", "bad.pem", "--kid", "x");
    expect([bad.code, bad.stderr]).toEqual([2, expect.stringMatching(/no private key/)]);
    const nameless = await baton("sign", "card.json", "--key", "one.pem");
    expect([nameless.code, nameless.stderr]).toEqual([2, expect.stringMatching(/no kid/)]);
    const unsigned = await baton("verify", "card.json", "--keys", "one.jwks");
    expect([unsigned.code, unsigned.stderr]).toEqual([1, expect.stringMatching(/not signed/)]);
  });
});
