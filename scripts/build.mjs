// Compiles what is published into dist/: JavaScript and types from src/, with all that it reads beside it.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import { dirname, extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");

// The console stays: it is replaced as a whole below, and a gateway in this folder may be serving it.
for (const name of existsSync(dist) ? readdirSync(dist) : []) {
  if (name !== "console") rmSync(join(dist, name), { recursive: true, force: true });
}
const tsc = spawnSync(
  process.execPath,
  [join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json"],
  {
    cwd: root,
    stdio: "inherit",
  },
);
if (tsc.status !== 0) process.exit(tsc.status ?? 1);

// The same places relative to the code as in the repository, so that a path works in both.
for (const folder of ["gen", "proto", "schemas"]) {
  if (existsSync(join(root, folder))) cpSync(join(root, folder), join(dist, folder), { recursive: true });
}
for (const entry of readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (path.startsWith(join(root, "src/console"))) continue;
  if (entry.isFile() && extname(path) !== ".ts") cpSync(path, join(dist, relative(root, path)));
}

const bundled = spawnSync(process.execPath, [join(root, "scripts/console.mjs"), "--force"], {
  cwd: root,
  stdio: "inherit",
});
if (bundled.status !== 0) process.exit(bundled.status ?? 1);

const { bin } = await import(join(root, "package.json"), { with: { type: "json" } }).then((m) => m.default);
for (const program of Object.values(bin)) chmodSync(join(root, program), 0o755);
console.log(`Built ${relative(root, dist)}/.`);
