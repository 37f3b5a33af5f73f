/** A machine on which all is well, with real parts, for faults to be planted in. */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import dns from "node:dns";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHECKS } from "../../src/cli/doctor/checks.ts";
import { examine, type Result } from "../../src/cli/doctor/examine.ts";
import { freePorts, type Server, Servers } from "../cluster/servers.ts";
import { createAuthority } from "../egress/certificates.ts";
import { startNameServer } from "../egress/name-server.ts";
import { AUDIENCE, startIssuer, type TestIssuer } from "../identity/issuer.ts";
import { type HostProcess, startHostProcess } from "../openwop/processes.ts";

// A configuration document is whatever the file says.
// biome-ignore lint/suspicious/noExplicitAny: faults are planted by writing anything anywhere
export type Document = any;

export const authority = createAuthority("Doctor test root");

export interface Rig extends AsyncDisposable {
  readonly folder: string;
  readonly servers: Servers;
  readonly redis: Server;
  readonly issuer: TestIssuer;
  readonly host: HostProcess;
  readonly nameServer: string;
  readonly environment: Record<string, string>;
  file(name: string, content: string): Promise<string>;
  /** A good configuration. */
  document(): Document;
  /** Writes the document and makes every check. */
  examine(document: Document | string, environment?: Record<string, string>): Promise<Result[]>;
}

export async function startRig(): Promise<Rig> {
  const folder = await mkdtemp(join(tmpdir(), "baton-doctor-"));
  const servers = new Servers();
  const [redisPort = 0, port = 0, adminPort = 0] = await freePorts(3);
  const redis = await servers.start(redisPort, ["--appendonly", "yes", "--maxmemory", "200mb"]);
  const issuer = await startIssuer();
  const host = await startHostProcess();
  const nameServer = await startNameServer({ localhost: { a: ["127.0.0.1"] } });
  const before = dns.getServers();
  dns.setServers([nameServer.address]);
  const file = async (name: string, content: string) => {
    const path = join(folder, name);
    await writeFile(path, content, { mode: 0o600 });
    return path;
  };
  const { cert, key } = authority.issue({ names: ["localhost"] });
  const certFile = await file("cert.pem", cert);
  const keyFile = await file("key.pem", key);
  const issuerCa = await file("issuer-ca.pem", issuer.ca);
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const cardKey = await file("card.pem", privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  const environment = {
    PATH: process.env.PATH ?? "",
    BATON_SECRET_KEY: randomBytes(32).toString("base64"),
    HOST_KEY: "host-key-acme",
  };
  const token = randomBytes(32).toString("base64url");
  return {
    folder,
    servers,
    redis,
    issuer,
    host,
    nameServer: nameServer.address,
    environment,
    file,
    document: () => ({
      listen: { host: "0.0.0.0", port, tls: { certFile, keyFile } },
      admin: { host: "0.0.0.0", port: adminPort, token },
      publicUrl: `https://localhost:${port}`,
      dataDir: join(folder, "data"),
      redis: { url: `redis://127.0.0.1:${redisPort}` },
      identity: {
        issuers: [{ issuer: issuer.issuer, audiences: [AUDIENCE] }],
        allow: [{ cidr: "127.0.0.1/32", ports: [issuer.port] }],
        caFiles: [issuerCa],
      },
      cards: { signing: [{ kid: "first", file: cardKey }] },
      push: { allow: [{ cidr: "10.20.30.0/24", ports: [8443] }] },
      agents: {
        default: {},
        runs: {
          backend: { kind: "openwop", url: host.url, workflows: ["w"], credential: { env: "HOST_KEY" } },
        },
      },
    }),
    async examine(document, more = {}) {
      const text = typeof document === "string" ? document : JSON.stringify(document);
      return examine({
        file: await file("baton.yaml", text),
        checks: CHECKS,
        environment: { ...environment, ...more },
      });
    },
    async [Symbol.asyncDispose]() {
      dns.setServers(before);
      await nameServer[Symbol.asyncDispose]();
      await host.stop();
      await issuer[Symbol.asyncDispose]();
      await servers.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Passes bytes on to a server, with each occurrence of a text in its answers replaced by one of the same length. */
export async function startRewriter(to: number, from: string, by: string) {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(to, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
    client.pipe(upstream);
    upstream.on("data", (chunk) =>
      client.write(Buffer.from(chunk.toString("latin1").replaceAll(from, by), "latin1")),
    );
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Something that takes connections and never says a word. */
export async function startMute() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What is not well, in short: `FAULT tls: ...`. */
export function complaints(results: readonly Result[]): string[] {
  return results
    .filter(({ outcome }) => outcome === "fault" || outcome === "warning")
    .map(({ outcome, check, found }) => `${outcome} ${check}: ${found}`);
}
