import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parseAllDocuments, stringify } from "yaml";
import { HelmUnavailable, helmBinary } from "../../scripts/helm-binary.mjs";

export const CHART = fileURLToPath(new URL("../../helm/baton", import.meta.url));

/** Values that every set needs: an admin secret and a way to Redis. */
export const BASE = { admin: { existingSecret: "baton" }, redis: { url: "redis://redis.example:6379" } };

// biome-ignore lint/suspicious/noExplicitAny: a Kubernetes object is read by path, and a wrong path fails the test.
export type Manifest = any;

const run = promisify(execFile);

/** The real helm, or undefined (said aloud) where it cannot be had. */
export const helm: string | undefined = find();

function find(): string | undefined {
  try {
    return helmBinary();
  } catch (error) {
    if (!(error instanceof HelmUnavailable)) throw error;
    console.error(`\nSKIPPED: the chart is not tested. ${error.message}\n`);
    return undefined;
  }
}

export async function runHelm(args: readonly string[]): Promise<string> {
  if (helm === undefined) throw new Error("there is no helm");
  const { stdout } = await run(helm, args, { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

/** What helm says when it refuses; throws where it does not. */
export async function refusal(values: object): Promise<string> {
  try {
    await template(values);
  } catch (error) {
    return (error as { stderr?: string }).stderr ?? String(error);
  }
  throw new Error(`helm took ${JSON.stringify(values)}`);
}

export async function withValues<T>(values: object, use: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "baton-helm-"));
  try {
    const file = join(folder, "values.yaml");
    await writeFile(file, stringify(values));
    return await use(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The text that `helm template` makes of the values. */
export function templateText(values: object, more: readonly string[] = []): Promise<string> {
  return withValues(values, (file) =>
    runHelm(["template", "release", CHART, "--namespace", "a2a", "--values", file, ...more]),
  );
}

export async function template(values: object): Promise<Manifest[]> {
  return manifests(await templateText(values));
}

export function manifests(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    const value = document.toJS();
    return value === null ? [] : [value];
  });
}

/** The one manifest of a kind, and where there are several the one whose name ends so. */
export function one(all: readonly Manifest[], kind: string, suffix = ""): Manifest {
  const found = all.filter((each) => each.kind === kind && each.metadata.name.endsWith(suffix));
  if (found.length !== 1) throw new Error(`${found.length} of ${kind} ${suffix}`);
  return found[0];
}

export function kinds(all: readonly Manifest[]): string[] {
  return all.map(({ kind }) => kind).sort();
}

/** Whether a label selector takes a pod with these labels. */
export function selects(
  { matchLabels = {}, matchExpressions = [] }: Manifest,
  labels: Readonly<Record<string, string>>,
): boolean {
  const each = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return (
    each &&
    matchExpressions.every(({ key, operator, values }: Manifest) => {
      if (operator !== "In") throw new Error(`operator ${operator}`);
      return values.includes(labels[key]);
    })
  );
}
