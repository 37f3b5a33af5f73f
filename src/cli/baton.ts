#!/usr/bin/env node
/**
 * What `baton` starts: it says so where Node is too old, before anything is loaded that an old Node cannot read.
 *
 * @module
 */

/** As `engines` in package.json; npm only warns about that. */
const NEEDS = [22, 19] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < NEEDS[0] || (major === NEEDS[0] && minor < NEEDS[1])) {
  process.stderr.write(
    `baton needs Node ${NEEDS.join(".")} or newer; this is ${process.versions.node}. Node 24 (LTS) is recommended.\n`,
  );
  process.exit(2);
}
await import("./main.ts");
