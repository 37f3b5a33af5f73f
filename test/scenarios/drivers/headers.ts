import type { CallOptions } from "../driver.ts";

/** Headers, or metadata, that every transport sends alike. */
export function callHeaders(options: CallOptions, defaultVersion: string | null): Record<string, string> {
  const version = options.version === undefined ? defaultVersion : options.version;
  return {
    ...(options.token === null ? {} : { authorization: `Bearer ${options.token}` }),
    ...(version === null ? {} : { "a2a-version": version }),
    ...options.headers,
  };
}

/** The address with the query parameters that the call asks for. */
export function withQuery(url: string, { query }: CallOptions): string {
  if (query === undefined) return url;
  return `${url}${url.includes("?") ? "&" : "?"}${new URLSearchParams(query)}`;
}
