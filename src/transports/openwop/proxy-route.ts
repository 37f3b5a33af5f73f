import { decodeId } from "./read-seam.ts";

/** What a passed-through request is for. */
export interface ProxyRoute {
  readonly kind: "discovery" | "list" | "fork" | "other";
  /** Every run that the host may read the path to mean; empty where it names none. */
  readonly runIds: readonly string[];
}

const DISCOVERY = "/.well-known/openwop";
const PASSED = /^(?:\/v1)?\/(runs|workflows)(?:\/[^?]*)?$/;
const RUN = /^(?:\/v1)?\/runs\/([^/]+)/;
const VERB = /:(fork|cancel|pause|resume)$/;

/** The route of a path, before any query; undefined for a path that is not passed through. */
export function proxyRoute(path: string): ProxyRoute | undefined {
  if (path === DISCOVERY) return { kind: "discovery", runIds: [] };
  const resource = PASSED.exec(path)?.[1];
  if (resource === undefined) return undefined;
  const segment = RUN.exec(path)?.[1];
  if (segment === undefined) return { kind: resource === "runs" ? "list" : "other", runIds: [] };
  const verb = VERB.exec(segment)?.[1];
  const id = decodeId(verb === undefined ? segment : segment.slice(0, -verb.length - 1));
  return { kind: verb === "fork" && path.endsWith(":fork") ? "fork" : "other", runIds: [id, plainId(id)] };
}

/**
 * Whether a path means to the host what it means to us: a client of HTTP resolves `..` and turns `\` into `/`, and a host
 * may decode more than once.
 */
export function isPlain(hostUrl: string, path: string, route: ProxyRoute): boolean {
  if (route.runIds.some((id) => id === "" || id.includes("%") || VERB.test(id))) return false;
  if (
    decodeId(path)
      .split(/[\\/]/)
      .some((part) => part === ".." || part === ".")
  )
    return false;
  const base = new URL(hostUrl).pathname.replace(/\/$/, "");
  return new URL(`${hostUrl}${path}`).pathname === `${base}${path}`;
}

/** The projected form of an id, `acme~2Fr-9f`, as the id itself; hosts take both (openwop.md 1.1). */
function plainId(id: string): string {
  return id.replace(/~([0-9A-F]{2})/g, (_whole, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
