import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import { createAuthority } from "../egress/certificates.ts";
import { startReceiver } from "../egress/receiver.ts";

/** A real OpenID Connect issuer on loopback, with TLS: discovery document, key set, signed tokens. */
export interface TestIssuer extends AsyncDisposable {
  readonly issuer: string;
  /** PEM of the authority that its certificate is from. */
  readonly ca: string;
  readonly port: number;
  /** Paths that were asked for. */
  readonly asked: string[];
  /** Answer of the next requests in place of the documents; undefined: the documents. */
  failWith: number | undefined;
  /** Where the discovery document says that the keys are. */
  jwksUrl: string;
  /** What the discovery document calls itself. */
  self: string;
  addKey(kid: string, algorithm?: string): Promise<CryptoKey>;
  removeKey(kid: string): void;
  token(claims?: TokenClaims): Promise<string>;
}

export interface TokenClaims extends JWTPayload {
  /** Header members over the ordinary ones. */
  readonly header?: Record<string, unknown>;
  readonly key?: CryptoKey;
}

export const AUDIENCE = "https://baton.example";

export async function startIssuer(): Promise<TestIssuer> {
  const authority = createAuthority("Issuer root");
  const tls = authority.issue({ addresses: ["127.0.0.1"] });
  const keys = new Map<string, JWK>();
  const asked: string[] = [];
  let state: TestIssuer | undefined;
  const receiver = await startReceiver({
    tls,
    handler(request, response) {
      const path = request.url ?? "";
      asked.push(path);
      const documents: Record<string, unknown> = {
        "/.well-known/openid-configuration": { issuer: state?.self, jwks_uri: state?.jwksUrl },
        "/keys": { keys: [...keys.values()] },
      };
      const document = documents[path];
      const status = state?.failWith ?? (document === undefined ? 404 : 200);
      response.writeHead(status, { "content-type": "application/json" });
      response.end(status === 200 ? JSON.stringify(document) : "{}");
    },
  });
  const issuer = `https://127.0.0.1:${receiver.port}`;
  const addKey = async (kid: string, algorithm = "ES256") => {
    const pair = await generateKeyPair(algorithm, { extractable: true });
    keys.set(kid, { ...(await exportJWK(pair.publicKey)), kid, alg: algorithm, use: "sig" });
    return pair.privateKey;
  };
  const ordinary = await addKey("first");
  state = {
    issuer,
    ca: authority.ca,
    port: receiver.port,
    asked,
    failWith: undefined,
    jwksUrl: `${issuer}/keys`,
    self: issuer,
    addKey,
    removeKey: (kid) => keys.delete(kid),
    async token({ header, key, ...claims } = {}) {
      const now = Math.floor(Date.now() / 1000);
      const all = { iss: issuer, aud: AUDIENCE, sub: "alice", iat: now, exp: now + 300, ...claims };
      const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
      return new SignJWT(payload)
        .setProtectedHeader({ alg: "ES256", kid: "first", typ: "JWT", ...header })
        .sign(key ?? ordinary);
    },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
  return state;
}
