export type HostMajor = 1 | 2;

/** The path of a run, or of something below it. Every segment is percent-encoded: a v2 run id holds a slash. */
export function runPath(major: HostMajor, runId: string, ...below: readonly string[]): string {
  const segments = ["runs", runId, ...below].map(encodeURIComponent);
  return `${major === 1 ? "/v1" : ""}/${segments.join("/")}`;
}

const NAMES: Readonly<Record<string, string>> = {
  runs: "{runId}",
  interrupts: "{nodeId}",
  artifacts: "{artifactId}",
};

/** A path without its ids and its query, to put like calls together. */
export function pathTemplate(path: string): string {
  const segments = (path.split("?", 1)[0] ?? "").split("/");
  return segments.map((segment, index) => NAMES[segments[index - 1] ?? ""] ?? segment).join("/");
}
