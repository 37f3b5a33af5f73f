import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { base64url, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import { IdTokenRefused, IdTokens } from "../../src/identity/id-tokens.ts";
import { IssuerUnavailable } from "../../src/identity/issuer-keys.ts";
import { AUDIENCE, startIssuer, type TestIssuer } from "./issuer.ts";
import { identityOf } from "./people.ts";

let issuer: TestIssuer;
let folder: string;
let tokens: IdTokens;

const open = async (change: Record<string, unknown> = {}) =>
  new IdTokens(parseConfig({ identity: { ...(await identityOf(issuer, folder)), ...change } }).identity);
const now = () => Math.floor(Date.now() / 1000);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-identity-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

beforeEach(async () => {
  issuer = await startIssuer();
  tokens = await open();
  return async () => {
    await tokens.close();
    await issuer[Symbol.asyncDispose]();
  };
});

describe("who is it", () => {
  it("SB-61 a token of a trusted issuer names its person, with the email only where it is verified", async () => {
    expect(await tokens.verify(await issuer.token({ email: "a@example.com", email_verified: true }))).toEqual(
      {
        issuer: issuer.issuer,
        subject: "alice",
        email: "a@example.com",
      },
    );
    for (const email_verified of [false, "true", undefined]) {
      const human = await tokens.verify(await issuer.token({ email: "a@example.com", email_verified }));
      expect(human.email).toBe("");
    }
  });

  it.each(["ES256", "RS256", "PS256", "EdDSA"])("SB-61 %s is accepted", async (algorithm) => {
    const key = await issuer.addKey("other", algorithm);
    const token = await issuer.token({ key, header: { alg: algorithm, kid: "other" } });
    expect((await tokens.verify(token)).subject).toBe("alice");
  });

  it.each<[string, Record<string, unknown>]>([
    ["another audience", { aud: "https://other.example" }],
    ["no audience", { aud: undefined }],
    ["past its expiry", { exp: now() - 60 }],
    ["no expiry", { exp: undefined }],
    ["issued in the future", { iat: now() + 120, exp: now() + 300 }],
    ["issued too long ago", { iat: now() - 3700 }],
    ["no time of issue", { iat: undefined }],
    ["not valid yet", { nbf: now() + 120 }],
    ["no subject", { sub: undefined }],
    ["an empty subject", { sub: "" }],
    ["an issuer that is not trusted", { iss: "https://evil.example" }],
    ["an issuer that only starts alike", { iss: "https://127.0.0.1:1" }],
    [
      "several audiences, made for another",
      { aud: [AUDIENCE, "https://x.example"], azp: "https://x.example" },
    ],
    ["several audiences, made for nobody", { aud: [AUDIENCE, "https://x.example"] }],
    ["an access token", { header: { typ: "at+jwt" } }],
  ])("SB-61 %s is refused", async (_, claims) => {
    const token = await issuer.token(claims);
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(IdTokenRefused);
    await expect(tokens.verify(await issuer.token())).resolves.toBeDefined();
  });

  it("SB-61 the clock of the issuer may be off by the skew and no more", async () => {
    expect(await tokens.verify(await issuer.token({ exp: now() - 20 }))).toBeDefined();
    expect(await tokens.verify(await issuer.token({ iat: now() + 20 }))).toBeDefined();
    await expect(tokens.verify(await issuer.token({ exp: now() - 40 }))).rejects.toBeInstanceOf(
      IdTokenRefused,
    );
  });

  it("SB-61 several audiences are fine where the token was made for us", async () => {
    const token = await issuer.token({ aud: [AUDIENCE, "https://x.example"], azp: AUDIENCE });
    expect((await tokens.verify(token)).subject).toBe("alice");
  });

  it("SB-61 an unsigned token, and one signed with the public key as a secret, are refused", async () => {
    const claims = { sub: "alice", iss: issuer.issuer, aud: AUDIENCE };
    const none = new UnsecuredJWT(claims).setIssuedAt().setExpirationTime("5m").encode();
    await expect(tokens.verify(none)).rejects.toBeInstanceOf(IdTokenRefused);
    const symmetric = await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", kid: "first", typ: "JWT" })
      .setIssuedAt()
      .setExpirationTime("5m")
      .sign(new TextEncoder().encode("the public key, which everybody has"));
    await expect(tokens.verify(symmetric)).rejects.toBeInstanceOf(IdTokenRefused);
    expect(issuer.asked).toEqual([]);
  });

  it("SB-61 a key that the token brings along is not used", async () => {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const jwk = await crypto.subtle.exportKey(
      "jwk",
      publicKey as unknown as Parameters<typeof crypto.subtle.exportKey>[1],
    );
    const token = await issuer.token({ key: privateKey, header: { jwk, jku: `${issuer.issuer}/evil` } });
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(IdTokenRefused);
    expect(issuer.asked).not.toContain("/evil");
  });

  it("SB-61 a changed payload or signature is refused, and so is anything that is no token", async () => {
    const [header, payload, signature] = (await issuer.token()).split(".");
    const forged = base64url.encode(
      JSON.stringify({ ...JSON.parse(Buffer.from(payload ?? "", "base64url").toString()), sub: "root" }),
    );
    for (const token of [
      `${header}.${forged}.${signature}`,
      `${header}.${payload}.AAAA`,
      "",
      "a.b.c",
      "x".repeat(20_000),
    ]) {
      await expect(tokens.verify(token)).rejects.toBeInstanceOf(IdTokenRefused);
    }
  });
});

describe("the issuer's keys", () => {
  it("are fetched once, and again for a new key only after a while", async () => {
    await Promise.all([1, 2, 3].map(async () => tokens.verify(await issuer.token())));
    await tokens.verify(await issuer.token());
    expect(issuer.asked).toEqual(["/.well-known/openid-configuration", "/keys"]);
    const stray = await generateKeyPair("ES256");
    for (let i = 0; i < 3; i++) {
      const token = await issuer.token({ key: stray.privateKey, header: { kid: `stray-${i}` } });
      await expect(tokens.verify(token)).rejects.toBeInstanceOf(IdTokenRefused);
    }
    expect(issuer.asked).toHaveLength(2);
  });

  it("are asked of nobody for a token of somebody else", async () => {
    await expect(tokens.verify(await issuer.token({ iss: "https://evil.example" }))).rejects.toThrow();
    expect(issuer.asked).toEqual([]);
  });

  it("a removed key is dead once the keys are old", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      expect(await tokens.verify(await issuer.token())).toBeDefined();
      issuer.removeKey("first");
      expect(await tokens.verify(await issuer.token())).toBeDefined();
      vi.setSystemTime(Date.now() + 601_000);
      await expect(tokens.verify(await issuer.token())).rejects.toBeInstanceOf(IdTokenRefused);
    } finally {
      vi.useRealTimers();
    }
  });

  it.each<[string, (issuer: TestIssuer) => void]>([
    ["an issuer that fails", (each) => Object.assign(each, { failWith: 500 })],
    ["a redirect", (each) => Object.assign(each, { failWith: 302 })],
    [
      "a discovery document of another issuer",
      (each) => Object.assign(each, { self: "https://evil.example" }),
    ],
    ["keys without TLS", (each) => Object.assign(each, { jwksUrl: `http://127.0.0.1:${each.port}/keys` })],
    [
      "keys at an address that is not allowed",
      (each) => Object.assign(each, { jwksUrl: "https://10.0.0.1/keys" }),
    ],
    [
      "keys at a metadata address",
      (each) => Object.assign(each, { jwksUrl: "https://169.254.169.254/keys" }),
    ],
  ])("SB-61 %s: unavailable, not refused", async (_, spoil) => {
    spoil(issuer);
    await expect(tokens.verify(await issuer.token())).rejects.toBeInstanceOf(IssuerUnavailable);
    const before = issuer.asked.length;
    await expect(tokens.verify(await issuer.token())).rejects.toBeInstanceOf(IssuerUnavailable);
    expect(issuer.asked).toHaveLength(before);
  });

  it("an issuer whose certificate is not trusted is unavailable", async () => {
    const wary = await open({ caFiles: [] });
    await expect(wary.verify(await issuer.token())).rejects.toBeInstanceOf(IssuerUnavailable);
    expect(issuer.asked).toEqual([]);
    await wary.close();
  });

  it("an issuer on loopback is out of reach unless the operator allows it", async () => {
    const guarded = await open({ allow: [] });
    await expect(guarded.verify(await issuer.token())).rejects.toBeInstanceOf(IssuerUnavailable);
    expect(issuer.asked).toEqual([]);
    await guarded.close();
  });
});
