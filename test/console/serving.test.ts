/** How the console's files are served; no browser is needed for that. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createConsoleHandler } from "../../src/server/console.ts";
import { startTestGateway } from "../gateway.ts";

let folder: string;
let server: Server;
let empty: Server;

const PAGE = "<!doctype html><title>console</title>";
const SCRIPT = "export const answer = 42;\n".repeat(40);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-console-"));
  const built = join(folder, "built");
  await mkdir(join(built, "assets"), { recursive: true });
  await writeFile(join(folder, "secret.js"), "outside");
  await writeFile(join(built, ".sources"), "not for the world");
  for (const [name, text] of [
    ["index.html", PAGE],
    ["assets/index-abc.js", SCRIPT],
  ] as const) {
    await writeFile(join(built, name), text);
    await writeFile(join(built, `${name}.br`), brotliCompressSync(text));
    await writeFile(join(built, `${name}.gz`), gzipSync(text));
  }
  server = await listen(built);
  empty = await listen(join(folder, "nothing"));
});
afterAll(async () => {
  server.close();
  empty.close();
  await rm(folder, { recursive: true, force: true });
});

async function listen(from: string): Promise<Server> {
  const handler = createConsoleHandler(from);
  const started = createServer(async (request, response) => {
    if (!(await handler(request, response))) response.writeHead(418).end();
  });
  await new Promise<void>((done) => started.listen(0, "127.0.0.1", done));
  return started;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends the path as it is: no `..` is resolved, nothing is added. */
function ask(
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
  of = server,
): Promise<Answer> {
  const { port } = of.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, path, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.on("error", reject);
    request.end();
  });
}

describe("the files of the console", () => {
  it("are its page at /console and at every path below that is no asset, so that links into it work", async () => {
    for (const path of [
      "/console",
      "/console/",
      "/console/tasks?state=failed",
      "/console/agents/a.b/tasks/x%2Fy",
    ]) {
      const { status, headers, body } = await ask(path);
      expect([path, status, headers["content-type"], headers["cache-control"], body.toString()]).toEqual([
        path,
        200,
        "text/html; charset=utf-8",
        "no-cache",
        PAGE,
      ]);
    }
    expect((await ask("/consoles")).status).toBe(418);
    expect((await ask("/other")).status).toBe(418);
  });

  it("are assets that may be kept for ever, because their names change with their content", async () => {
    const { status, headers, body } = await ask("/console/assets/index-abc.js");
    expect([status, headers["content-type"], headers["cache-control"], body.toString()]).toEqual([
      200,
      "text/javascript; charset=utf-8",
      "public, max-age=31536000, immutable",
      SCRIPT,
    ]);
    expect((await ask("/console/assets/index-old.js")).status).toBe(404);
  });

  it("come in the smallest encoding that is accepted, each with an entity tag of its own", async () => {
    const path = "/console/assets/index-abc.js";
    const of = async (accepted: string) => (await ask(path, { "accept-encoding": accepted })).headers;
    const br = await ask(path, { "accept-encoding": "gzip, deflate, br" });
    expect([
      br.headers["content-encoding"],
      br.headers.vary,
      brotliDecompressSync(br.body).toString(),
    ]).toEqual(["br", "accept-encoding", SCRIPT]);
    const gzip = await ask(path, { "accept-encoding": "br;q=0, gzip" });
    expect([gzip.headers["content-encoding"], gunzipSync(gzip.body).toString()]).toEqual(["gzip", SCRIPT]);
    expect((await of("identity"))["content-encoding"]).toBeUndefined();
    expect(new Set([br.headers.etag, gzip.headers.etag, (await of("identity")).etag]).size).toBe(3);
  });

  it("are not sent again to whoever has them", async () => {
    const { headers } = await ask("/console", { "accept-encoding": "br" });
    const again = await ask("/console", {
      "accept-encoding": "br",
      "if-none-match": `"x", W/${headers.etag}`,
    });
    expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, headers.etag]);
    expect((await ask("/console", { "if-none-match": String(headers.etag) })).status).toBe(200);
  });

  it("HEAD answers as GET does, without a body; other methods are refused", async () => {
    const [get, head] = [await ask("/console"), await ask("/console", {}, "HEAD")];
    expect([head.status, head.headers["content-length"], head.body.length]).toEqual([
      200,
      String(get.body.length),
      0,
    ]);
    const post = await ask("/console", {}, "POST");
    expect([post.status, post.headers.allow]).toEqual([405, "GET, HEAD"]);
  });

  it("are the built ones and nothing else on the disk", async () => {
    for (const path of [
      "/console/../secret.js",
      "/console/assets/../../secret.js",
      "/console/assets/..%2f..%2fsecret.js",
      "/console/%2e%2e/secret.js",
      "/console/.sources",
      "/console/index.html.br",
    ]) {
      const { body } = await ask(path);
      expect([path, body.toString().includes("outside"), body.toString().includes("not for")]).toEqual([
        path,
        false,
        false,
      ]);
    }
  });

  it("may load, send to and be framed by nothing but the gateway", async () => {
    const { headers } = await ask("/console");
    const policy = String(headers["content-security-policy"]);
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
    ]) {
      expect(policy).toContain(rule);
    }
    expect(policy).not.toContain("unsafe");
  });

  it("that were never built are answered with what to run", async () => {
    const { status, body } = await ask("/console", {}, "GET", empty);
    expect([status, body.toString()]).toEqual([404, "The console has not been built. Run: npm run setup\n"]);
  });
});

describe("a gateway", () => {
  it("serves no console where that is switched off", async () => {
    const gateway = await startTestGateway({ admin: { port: 0, console: false } });
    try {
      expect(gateway.consoleUrl).toBeUndefined();
      expect((await fetch(`${gateway.adminUrl}/console`)).status).toBe(404);
    } finally {
      await gateway.stop();
    }
  });

  it("serves none to callers", async () => {
    const gateway = await startTestGateway();
    try {
      expect((await fetch(`${gateway.url}/console`)).ok).toBe(false);
      expect((await fetch(String(gateway.consoleUrl))).status).toBe(200);
    } finally {
      await gateway.stop();
    }
  });
});
