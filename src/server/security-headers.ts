/** Headers of every response, whatever the handler or the failure (SB-54). A handler may set its own Cache-Control. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'",
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "strict-origin-when-cross-origin",
  "cache-control": "no-store",
};

const PAIRS = Object.entries(SECURITY_HEADERS);
const FLAT: readonly string[] = PAIRS.flat();

/** The headers as names and values in turn, but for those that are in `head`, of the same form; names in any case. */
export function securityFields(head: readonly unknown[]): readonly string[] {
  for (let index = 0; index < head.length; index += 2) {
    if (String(head[index]).toLowerCase() in SECURITY_HEADERS) return without(head);
  }
  return FLAT;
}

function without(head: readonly unknown[]): readonly string[] {
  const own = new Set(head.map((text) => String(text).toLowerCase()));
  return PAIRS.filter(([name]) => !own.has(name)).flat();
}

/** Sets those of the headers that are not set yet; what `writeHead` is given later wins, name by name. */
export function setSecurityHeaders(response: {
  hasHeader(name: string): boolean;
  setHeader(name: string, value: string): unknown;
}): void {
  for (const [name, value] of PAIRS) if (!response.hasHeader(name)) response.setHeader(name, value);
}
