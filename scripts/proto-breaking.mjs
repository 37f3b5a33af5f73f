// Fails when the definitions under proto/ would break somebody who was generated from an earlier state of them.
//
// The earlier states are the commit before this one (or the revision that BATON_BREAKING_BASE names) and the last
// release. Of each, the image of the proto module alone is built and compared: buf refuses to compare a workspace
// of two modules with a single image.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buf } from "./buf.ts";

const root = process.cwd();

function git(...args) {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

/** What git answers, or undefined where it knows no such thing. */
function askGit(...args) {
  try {
    return git(...args);
  } catch {
    return undefined;
  }
}

/** The states to compare with: commit id to the name by which it was found. */
function bases() {
  const named = process.env.BATON_BREAKING_BASE;
  const previous = askGit("rev-parse", "--verify", "--quiet", `${named ?? "HEAD~1"}^{commit}`);
  if (named && !previous) throw new Error(`BATON_BREAKING_BASE names no commit of this repository: ${named}`);
  const found = new Map();
  if (previous) found.set(previous, named ?? "HEAD~1");
  // On the commit of a release, the release before it counts too.
  for (const start of ["HEAD", "HEAD~1"]) {
    const tag = askGit("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", start);
    const commit = tag && git("rev-parse", `${tag}^{commit}`);
    if (commit && !found.has(commit)) found.set(commit, tag);
  }
  return found;
}

/** Lays out the proto folder of a commit with today's configuration and builds its image. */
function buildImage(commit, folder) {
  mkdirSync(folder);
  const archive = execFileSync("git", ["archive", commit, "proto"], { cwd: root, maxBuffer: 2 ** 28 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  cpSync(join(root, "buf.yaml"), join(folder, "buf.yaml"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
  const image = `${folder}.binpb`;
  buf(["build", "proto", "-o", image], folder);
  return image;
}

const scratch = mkdtempSync(join(tmpdir(), "baton-breaking-"));
try {
  const found = bases();
  if (found.size === 0) console.log("nothing to compare with: there is no earlier commit");
  for (const [commit, name] of found) {
    if (!git("ls-tree", commit, "proto")) {
      console.log(`nothing to compare with: ${name} has no proto folder`);
      continue;
    }
    const image = buildImage(commit, join(scratch, commit));
    try {
      buf(["breaking", "proto", "--against", image], root);
      console.log(`nothing breaks what was generated from ${name}`);
    } catch (error) {
      console.error(`breaks what was generated from ${name}:\n${error.message}`);
      process.exitCode = 1;
    }
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
