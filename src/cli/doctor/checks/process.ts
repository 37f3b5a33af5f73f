import { readFileSync } from "node:fs";
import { DEFAULT_LIMITS } from "../../../server/limits.ts";
import type { Check } from "../check.ts";
import { fault, ok, skipped, warning } from "../finding.ts";

/** As `engines` in package.json. */
const NEEDS = [22, 19] as const;
/** Files that a gateway needs besides its connections. */
const BESIDE = 200;
const FEWEST = 1024;
const FEW = 4096;

export const node: Check = {
  name: "node",
  about: "Node is 22.19 or newer, and a long-term release.",
  needs: [],
  run() {
    const version = process.versions.node;
    const [major = 0, minor = 0] = version.split(".").map(Number);
    if (major < NEEDS[0] || (major === NEEDS[0] && minor < NEEDS[1])) {
      return [fault(`Node is ${version}`, `Install ${NEEDS.join(".")} or newer; 24 (LTS) is recommended.`)];
    }
    // Odd majors get no repairs after half a year.
    if (major % 2 === 1) return [warning(`Node is ${version}, not a long-term release`, "Install Node 24.")];
    return [ok(`Node ${version}`)];
  },
};

export const openFiles: Check = {
  name: "open files",
  about: "The process may open enough files: each connection of a client is one.",
  needs: [],
  run() {
    // Node raises its soft limit to the hard one when it starts, so this is what a gateway would have.
    const limit = openFileLimit();
    if (limit === undefined) return [skipped("this system does not tell the limit")];
    const found = `at most ${limit} files can be open, so fewer clients than that`;
    const advice =
      "Raise it: LimitNOFILE in systemd, --ulimit nofile with docker and podman, ulimit -n in a shell.";
    if (limit < FEWEST) return [fault(found, advice)];
    if (limit < FEW) return [warning(found, advice)];
    const clients = Math.min(DEFAULT_LIMITS.maxConnections, limit - BESIDE);
    return [ok(`at most ${limit} files can be open: enough for ${clients} connections`)];
  },
};

function openFileLimit(): number | undefined {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
    if (soft === undefined) return undefined;
    return soft === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(soft);
  } catch {
    return undefined;
  }
}
