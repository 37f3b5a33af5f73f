/** Serves the console's files, as `npm run build` or the set-up of a clone left them, on the operators' port. */
import { createHash } from "node:crypto";
import { type Dirent, existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HttpHandler } from "../transports/http-handler.ts";

type Request = Parameters<HttpHandler>[0];
type Response = Parameters<HttpHandler>[1];

/** Where the console stands on the operators' port. */
export const CONSOLE_PATH = "/console";

/** Its own files and nothing else: a text that slipped into a page could load, run and send nothing. */
const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
};

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Smallest first. */
const ENCODINGS = [
  { name: "br", suffix: ".br" },
  { name: "gzip", suffix: ".gz" },
] as const;

interface Asset {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly encoded: ReadonlyMap<string, Buffer>;
}

/** By path below the folder, with `/` between its parts. */
type Assets = ReadonlyMap<string, Asset>;

const INDEX = "index.html";

/**
 * `/console`, its assets, and its page for every other path below, because the page finds its own way. Only files that
 * were found in `folder` when it was read are ever served. Without them each path is answered 404, with what to run.
 */
export function createConsoleHandler(folder = builtConsole()): HttpHandler {
  let assets: Assets | undefined;
  return async (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    if (path !== CONSOLE_PATH && !path.startsWith(`${CONSOLE_PATH}/`)) return false;
    request.resume();
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      sendText(request, response, 405, "The console is only read: GET or HEAD.");
      return true;
    }
    // Read when first asked for: most gateways of a cluster never are.
    assets ??= readAssets(folder);
    if (assets === undefined) {
      sendText(request, response, 404, `The console has not been built. Run: ${howToBuild()}`);
      return true;
    }
    const name = path.slice(CONSOLE_PATH.length + 1);
    const asset = assets.get(name);
    if (asset !== undefined) sendAsset(request, response, asset, name.startsWith("assets/"));
    else if (name.startsWith("assets/")) sendText(request, response, 404, "No such file of the console.");
    else sendAsset(request, response, assets.get(INDEX), false);
    return true;
  };
}

/** Beside the compiled program, or where a clone's set-up put it. */
function builtConsole(): string {
  return fileURLToPath(new URL(isCompiled() ? "../../console/" : "../../dist/console/", import.meta.url));
}

function isCompiled(): boolean {
  return import.meta.url.endsWith(".js");
}

function howToBuild(): string {
  return isCompiled() ? "npm run build, in the clone that this program was built from" : "npm run setup";
}

function readAssets(folder: string): Assets | undefined {
  if (!existsSync(join(folder, INDEX))) return undefined;
  const inFolder = ({ parentPath, name }: Dirent) => join(parentPath, name).slice(join(folder, "/").length);
  const assets = new Map<string, Asset>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const file = join(entry.parentPath, entry.name);
    const plain = readFileSync(file);
    const encoded = new Map<string, Buffer>();
    for (const { name, suffix } of ENCODINGS) {
      if (existsSync(file + suffix)) encoded.set(name, readFileSync(file + suffix));
    }
    const etag = createHash("sha256").update(plain).digest("base64url").slice(0, 22);
    assets.set(inFolder(entry).replaceAll("\\", "/"), { type, etag, plain, encoded });
  }
  return assets;
}

function sendAsset(request: Request, response: Response, asset: Asset | undefined, immutable: boolean): void {
  if (asset === undefined) throw new Error("the console has no page");
  const accepted = acceptedEncodings(String(request.headers["accept-encoding"] ?? ""));
  const encoding = ENCODINGS.find(({ name }) => accepted.has(name) && asset.encoded.has(name))?.name;
  const body = (encoding === undefined ? undefined : asset.encoded.get(encoding)) ?? asset.plain;
  // An entity tag names one sequence of bytes, and each encoding is another (RFC 9110, 8.8.3.3).
  const etag = encoding === undefined ? `"${asset.etag}"` : `"${asset.etag}-${encoding}"`;
  response.setHeader("etag", etag);
  response.setHeader("vary", "accept-encoding");
  // The names of assets hold a hash of their content; the page that names them must be asked for each time.
  response.setHeader("cache-control", immutable ? "public, max-age=31536000, immutable" : "no-cache");
  if (matches(request.headers["if-none-match"], etag)) {
    response.statusCode = 304;
    response.end();
    return;
  }
  response.statusCode = 200;
  response.setHeader("content-type", asset.type);
  if (encoding !== undefined) response.setHeader("content-encoding", encoding);
  response.setHeader("content-length", String(body.length));
  if (request.method === "HEAD") response.end();
  else response.end(body);
}

/** Names of `Accept-Encoding`, without those that it rules out by `q=0`. */
function acceptedEncodings(header: string): ReadonlySet<string> {
  const names = header.split(",").flatMap((part) => {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    return parameters.some((text) => /^q=0(\.0*)?$/.test(text)) ? [] : [name];
  });
  return new Set(names);
}

function matches(header: string | string[] | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const tags = String(header)
    .split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}

function sendText(request: Request, response: Response, status: number, text: string): void {
  const body = Buffer.from(`${text}\n`);
  response.statusCode = status;
  response.setHeader("content-type", "text/plain; charset=utf-8");
  response.setHeader("content-length", String(body.length));
  if (request.method === "HEAD") response.end();
  else response.end(body);
}
