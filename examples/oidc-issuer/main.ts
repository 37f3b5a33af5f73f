/**
 * A stand-in for a company's OpenID Connect issuer, to try friend requests with: it listens on loopback only and signs an
 * ID token about anybody for everybody who asks. Never use it for anything else.
 *
 *     node examples/oidc-issuer/main.ts <folder>
 *
 * The folder holds `key.pem` and `cert.pem` for TLS; the issuer's address is written to `url` in it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";

const folder = process.argv[2];
if (folder === undefined) {
  console.error("usage: node examples/oidc-issuer/main.ts <folder with key.pem and cert.pem>");
  process.exit(2);
}

const { privateKey, publicKey } = await generateKeyPair("ES256");
const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: "demo", alg: "ES256", use: "sig" }] };
const tls = { key: readFileSync(join(folder, "key.pem")), cert: readFileSync(join(folder, "cert.pem")) };
let issuer = "";

/** `/token?sub=…&aud=…&email=…`: an ID token, good for five minutes. */
async function idToken(query: URLSearchParams): Promise<string> {
  const email = query.get("email");
  return new SignJWT(email === null ? {} : { email, email_verified: true })
    .setProtectedHeader({ alg: "ES256", kid: "demo", typ: "JWT" })
    .setIssuer(issuer)
    .setSubject(query.get("sub") ?? "somebody")
    .setAudience(query.get("aud") ?? "")
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(privateKey);
}

const server = createServer(tls, async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", issuer);
  const json = (value: object) =>
    response.setHeader("content-type", "application/json").end(JSON.stringify(value));
  switch (pathname) {
    case "/.well-known/openid-configuration":
      json({ issuer, jwks_uri: `${issuer}/keys` });
      break;
    case "/keys":
      json(keys);
      break;
    case "/token":
      response.setHeader("content-type", "text/plain").end(await idToken(searchParams));
      break;
    default:
      response.writeHead(404).end();
  }
});

server.listen(0, "127.0.0.1", () => {
  issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(join(folder, "url"), issuer);
});
