import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { adminTokenFile } from "../../../server/admin-token.ts";
import { configuredTarget } from "../../../server/redis-source.ts";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, reason, warning } from "../finding.ts";

/** File systems by the number that statfs(2) gives on Linux. */
const MEMORY: Readonly<Record<number, string>> = { 16914836: "tmpfs", 2240043254: "ramfs" };
const NO_DISK: Readonly<Record<number, string>> = { 40864: "proc", 1650812274: "sysfs", 2613483: "cgroup" };
const NETWORK: Readonly<Record<number, string>> = { 26985: "NFS", 4283649346: "CIFS", 4266872130: "SMB" };
const OVERLAY = 0x794c7630;

const MEBIBYTE = 1_048_576;
const LEAST_FREE = 64 * MEBIBYTE;
const LOW_FREE = 1024 * MEBIBYTE;

export const dataFolder: Check = {
  name: "data folder",
  about:
    "The data folder can be made and written, lies on a disk with room, and its secrets are for this user alone.",
  needs: ["dataDir", "redis", "admin"],
  run({ config }) {
    const folder = resolve(config.dataDir);
    const embedded = configuredTarget(config) === undefined;
    // With a Redis elsewhere and a credential of the operator's, nothing is kept here.
    if (!embedded && config.admin.token !== undefined) {
      return [ok("not used: Redis and admin credential are given")];
    }
    const setting = `dataDir: ${folder}`;
    const there = nearest(folder);
    const { type, bavail, bsize } = statfsSync(there);
    if (type in NO_DISK) {
      return [
        fault(`${setting} lies in ${NO_DISK[type]}, where nothing can be kept`, "Choose another folder."),
      ];
    }
    if (!statSync(there).isDirectory()) {
      return [fault(`${setting} cannot be made: ${there} is no folder`, "Choose another folder.")];
    }
    try {
      accessSync(there, constants.W_OK | constants.X_OK);
    } catch (error) {
      return [
        fault(
          `${setting} cannot be written (${reason(error)} on ${there})`,
          "Give this user the folder, mount a volume there, or set dataDir (BATON_DATA_DIR).",
        ),
      ];
    }
    const free = bavail * bsize;
    const findings = [...(embedded ? diskFindings(setting, type, free) : []), ...openSecrets(folder)];
    return findings.length > 0 ? findings : [ok(`${folder} can be written, ${size(free)} free`)];
  },
};

/** Whether a disk is good for the only copy of the tasks. */
export function diskFindings(setting: string, type: number, free: number): Finding[] {
  const findings: Finding[] = [];
  if (type in MEMORY) {
    findings.push(
      fault(
        `${setting} lies in memory (${MEMORY[type]}): every task is lost with the machine`,
        "Choose a folder on a disk, or mount a volume there.",
      ),
    );
  }
  if (type === OVERLAY) {
    findings.push(
      warning(
        `${setting} lies in the container's own layer: every task is lost with the container`,
        "Mount a volume there.",
      ),
    );
  }
  if (type in NETWORK) {
    findings.push(
      warning(
        `${setting} lies on ${NETWORK[type]}, on whose locks and flushes an append-only file should not depend`,
        "Choose a folder on a disk of this machine, or name a Redis server.",
      ),
    );
  }
  if (free < LEAST_FREE) {
    findings.push(
      fault(`${setting} has ${size(free)} free`, "Make room: a Redis with a full disk takes no changes."),
    );
  } else if (free < LOW_FREE) {
    findings.push(
      warning(
        `${setting} has ${size(free)} free`,
        "Make room: an append-only file lies there twice while it is made smaller.",
      ),
    );
  }
  return findings;
}

function openSecrets(folder: string): Finding[] {
  return [adminTokenFile(folder), join(folder, "secret.key")].flatMap((file) => {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
    return (mode & 0o077) === 0 ? [] : [warning(`${file} can be read by other users`, `chmod 600 ${file}`)];
  });
}

/** The folder, or the nearest one above it that exists. */
function nearest(folder: string): string {
  let at = folder;
  while (!existsSync(at)) at = dirname(at);
  return at;
}

function size(bytes: number): string {
  const mebibytes = Math.floor(bytes / MEBIBYTE);
  return mebibytes < 1024 ? `${mebibytes} MiB` : `${Math.floor(mebibytes / 1024)} GiB`;
}
