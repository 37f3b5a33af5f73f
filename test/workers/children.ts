import { readdir, readFile } from "node:fs/promises";

/** Process ids of the workers of a primary, by what the system knows of its children. */
export async function workersOf(primary: number | undefined): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const text = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    const parent = Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1]);
    const program = await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "");
    if (parent === primary && program.includes("\0serve\0")) found.push(Number(name));
  }
  return found;
}

/** kill -9 of a worker of a primary; answers its process id. */
export async function killWorkerOf(primary: number | undefined): Promise<number> {
  const [victim] = await workersOf(primary);
  // 0 would be all of us.
  if (victim === undefined) throw new Error("there is no worker");
  process.kill(victim, "SIGKILL");
  return victim;
}
