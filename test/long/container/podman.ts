/** podman with a storage of its own, so that nothing of the proof stays on the machine. */
import { execFile, spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../../..");

/** Names that the Dockerfile and compose.yaml ask for; here they name images that this machine has made. */
export const BASE_IMAGE = "docker.io/library/node:24-slim";
export const REDIS_IMAGE = "docker.io/valkey/valkey:8.0";

/** What is missing on this machine for the proof; undefined where nothing is. */
export function missing(): string | undefined {
  if (process.getuid?.() !== 0) return "root, to make a base image";
  return ["podman", "debootstrap", "tar"].find((name) => !hasProgram(name));
}

/** Whether a program is there at all: one that is and does not run is a fault to see, not a reason to skip. */
export function hasProgram(name: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${name}`]).status === 0;
}

export interface Done {
  readonly stdout: string;
  readonly stderr: string;
}

export class Podman {
  readonly folder: string;
  readonly #environment: NodeJS.ProcessEnv;

  private constructor(folder: string) {
    this.folder = folder;
    this.#environment = { ...process.env, CONTAINERS_CONF: join(folder, "containers.conf") };
  }

  static async open(): Promise<Podman> {
    const folder = await mkdtemp(join(tmpdir(), "baton-podman-"));
    // crun does not run under every arrangement of cgroups, and small machines refuse podman's own limits.
    const runc = hasProgram("runc");
    await writeFile(
      join(folder, "containers.conf"),
      `[containers]\ndefault_ulimits = ["nofile=20000:20000", "nproc=10000:10000"]\n${runc ? '[engine]\nruntime = "runc"\n' : ""}`,
    );
    return new Podman(folder);
  }

  get args(): readonly string[] {
    return ["--root", join(this.folder, "storage"), "--runroot", join(this.folder, "run")];
  }

  /** Runs podman; throws with what it said. */
  async do(...args: readonly string[]): Promise<Done> {
    return this.tool("podman", ...args);
  }

  /** Another program of the same storage, such as buildah. */
  async tool(program: string, ...args: readonly string[]): Promise<Done> {
    try {
      return await run(program, [...this.args, ...args], {
        cwd: ROOT,
        env: this.#environment,
        maxBuffer: 64 << 20,
      });
    } catch (error) {
      const { stdout = "", stderr = "" } = error as Partial<Done>;
      throw new Error(`${program} ${args.join(" ")}:\n${stdout.slice(-3000)}\n${stderr.slice(-3000)}`);
    }
  }

  /** The port of the machine that leads to a port of a container. */
  async port(container: string, inner: number): Promise<string> {
    const { stdout } = await this.do("port", container, `${inner}/tcp`);
    const port = /:(\d+)\s*$/m.exec(stdout)?.[1];
    if (port === undefined) throw new Error(`${container} publishes no ${inner}`);
    return port;
  }

  /** Makes the images that would be pulled: Debian with this machine's Node and npm, and with a Redis. */
  async makeBaseImages(): Promise<void> {
    const context = join(this.folder, "context");
    await mkdir(context);
    const rootfs = join(this.folder, "rootfs");
    const packages = "ca-certificates,redis-server";
    await run("debootstrap", ["--variant=minbase", `--include=${packages}`, "bookworm", rootfs], {
      maxBuffer: 64 << 20,
    });
    await run("tar", ["-C", rootfs, "-cf", join(context, "rootfs.tar"), "."]);
    await rm(rootfs, { recursive: true });
    await cp(process.execPath, join(context, "node"));
    const npm = process.env.npm_execpath;
    if (npm === undefined) throw new Error("run this with npm, whose folder goes into the base image");
    await cp(dirname(dirname(npm)), join(context, "npm"), { recursive: true, dereference: true });
    await writeFile(
      join(context, "base"),
      [
        "FROM scratch",
        "ADD rootfs.tar /",
        "COPY node /usr/local/bin/node",
        "COPY npm /usr/local/lib/node_modules/npm",
        "RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && node --version",
      ].join("\n"),
    );
    await writeFile(
      join(context, "redis"),
      [
        `FROM ${BASE_IMAGE}`,
        "RUN ln -s redis-server /usr/bin/valkey-server && ln -s redis-cli /usr/bin/valkey-cli",
        "RUN mkdir -p /data && chown 999:999 /data",
        "WORKDIR /data",
        'CMD ["valkey-server"]',
      ].join("\n"),
    );
    await this.do("build", "--file", join(context, "base"), "--tag", BASE_IMAGE, context);
    await this.do("build", "--pull=never", "--file", join(context, "redis"), "--tag", REDIS_IMAGE, context);
  }

  /** What a build needs to reach the registry as this machine does. */
  get buildArgs(): readonly string[] {
    const ca = process.env.NODE_EXTRA_CA_CERTS;
    const trust = "/run/extra-ca.crt";
    const certificates =
      ca === undefined ? [] : ["--volume", `${ca}:${trust}:ro`, "--env", `NODE_EXTRA_CA_CERTS=${trust}`];
    return ["--pull=never", "--network", "host", "--format", "docker", ...certificates];
  }

  /** `podman-compose up` of one service, in this storage by way of the wrapper. */
  async compose(
    wrapper: string,
    file: string,
    environment: Readonly<Record<string, string>>,
    service: string,
  ): Promise<void> {
    const project = ["--podman-path", wrapper, "--file", file, "--project-name", "baton"];
    const args = [...project, "up", "--detach", "--no-deps", service];
    await run("podman-compose", args, {
      cwd: this.folder,
      env: { ...this.#environment, ...environment },
      maxBuffer: 64 << 20,
    });
  }

  async close(): Promise<void> {
    await this.do("pod", "rm", "--all", "--force", "--time", "5").catch(() => {});
    await this.do("rm", "--all", "--force", "--time", "5").catch(() => {});
    await this.do("system", "reset", "--force").catch(() => {});
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
  }
}
