import type { Major } from "./run.ts";

/** The host's discovery document; `a2a` is the block of whoever fronts it with A2A, if anybody does. */
export function discoveryDocument(
  major: Major,
  a2a: Record<string, unknown> | undefined,
): Record<string, unknown> {
  const block = a2a === undefined ? {} : { a2a };
  if (major === 1) {
    return {
      protocolVersion: "1.11",
      implementation: { name: "openwop-host-example", version: "1.0.0" },
      fixtures: ["conformance-approval"],
      oauth: { credentialInterrupt: true },
      ...block,
    };
  }
  return {
    protocolVersion: "2.0",
    preferredVersion: "1.11",
    implementation: { name: "openwop-host-example", version: "1.0.0" },
    auth: { lanes: ["bearer"] },
    fixtures: ["conformance-approval"],
    oauth: { credentialInterrupt: true },
    replay: { modes: ["replay", "branch"], effectSeamsManifest: "/host/effect-seams" },
    runList: { maxPageSize: 50 },
    ...block,
  };
}
