/**
 * Runs the Connect conformance suite against Baton's listener, once with the lean gRPC path and once with connect-es
 * serving everything. The suite is a Go program: without Go, or where its module cannot be had, this says so and ends
 * with 0.
 *
 *   node test/connect-conformance/run.ts [lean|connect-es]
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MODULE = "connectrpc.com/conformance";
const VERSION = "v1.0.7";

const here = import.meta.dirname;
const paths = process.argv[2] === undefined ? ["lean", "connect-es"] : [process.argv[2]];
const folder = mkdtempSync(join(tmpdir(), "baton-connect-conformance-"));
try {
  const suite = getSuite(folder);
  if (typeof suite === "string") {
    console.log(`SKIPPED: the Connect conformance suite was not run: ${suite}`);
  } else {
    const descriptors = join(folder, "suite.binpb");
    execFileSync("buf", ["build", suite.protos, "-o", descriptors], { stdio: "inherit" });
    for (const path of paths) runSuite(suite.program, descriptors, path);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The program and its protos, or why there are none. */
function getSuite(bin: string): { readonly program: string; readonly protos: string } | string {
  const go = (...args: string[]) =>
    spawnSync("go", args, { encoding: "utf8", env: { ...process.env, GOBIN: bin } });
  const found = go("mod", "download", "-json", `${MODULE}@${VERSION}`);
  if (found.error !== undefined) return "this machine has no Go";
  if (found.status !== 0) return `its Go module is not to be had (${lastLine(found.stdout + found.stderr)})`;
  const built = go("install", `${MODULE}/cmd/connectconformance@${VERSION}`);
  if (built.status !== 0) return `it cannot be built (${lastLine(built.stderr)})`;
  return {
    program: join(bin, "connectconformance"),
    protos: join(JSON.parse(found.stdout).Dir, "proto"),
  };
}

function runSuite(program: string, descriptors: string, path: string): void {
  console.log(`Connect conformance suite ${VERSION}, gRPC by ${path}:`);
  const server = [process.execPath, join(here, "server.ts"), descriptors, path];
  const config = join(here, "suite.yaml");
  const args = ["--conf", config, "--mode", "server", "--parallel", "4", "--", ...server];
  const { status } = spawnSync(program, args, { stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
