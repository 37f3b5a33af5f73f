import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { parseConfig } from "../../src/config/load.ts";
import { ROLES } from "../../src/config/schema.ts";
import {
  BASE,
  CHART,
  helm,
  kinds,
  type Manifest,
  manifests,
  one,
  refusal,
  runHelm,
  selects,
  template,
  templateText,
  withValues,
} from "./helm.ts";
import { problemsOf } from "./kubernetes.ts";
import { SPLIT, VALUE_SETS } from "./value-sets.ts";

const rendered = new Map<string, string>();

describe.skipIf(helm === undefined)("helm/baton", () => {
  beforeAll(async () => {
    for (const [name, values] of Object.entries(VALUE_SETS)) rendered.set(name, await templateText(values));
  });

  describe.each(Object.keys(VALUE_SETS))("%s", (name) => {
    const all = () => manifests(rendered.get(name) ?? "");

    it("passes helm lint", async () => {
      const output = await withValues(VALUE_SETS[name] ?? {}, (file) =>
        runHelm(["lint", CHART, "--strict", "--values", file]),
      );
      expect(output).toContain("0 chart(s) failed");
    });

    it("has names and labels that Kubernetes takes, each object once", () => {
      const seen = new Set<string>();
      for (const { kind, apiVersion, metadata } of all()) {
        expect(apiVersion).toBeTruthy();
        expect(metadata.name).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
        expect(metadata.labels["app.kubernetes.io/instance"]).toBe("release");
        for (const value of Object.values<string>(metadata.labels)) expect(value).toMatch(/^[\w.-]{0,63}$/);
        expect(seen.has(`${kind}/${metadata.name}`)).toBe(false);
        seen.add(`${kind}/${metadata.name}`);
      }
    });

    it("is what the schemas of Kubernetes ask for, without a field that they do not know", () => {
      for (const manifest of all()) {
        expect({ kind: manifest.kind, problems: problemsOf(manifest) }).toMatchObject({ problems: [] });
      }
    });

    it("makes a baton.yaml that the program takes, without a secret in it", () => {
      const gateway = name === "everything on the pods" ? "gateway" : "release-baton";
      const configMap = one(all(), "ConfigMap", gateway);
      const text = configMap.data["baton.yaml"];
      const document = parse(text);
      const { env } = one(all(), "Deployment", gateway).spec.template.spec.containers[0];
      // What the environment brings in a pod.
      if (env.some(({ name: variable }: Manifest) => variable === "BATON_REDIS_URL"))
        document.redis.url = "redis://x";
      const config = parseConfig(document);
      expect(config.listen.host).toBe("0.0.0.0");
      expect(config.redis.embedded).toBe(false);
      expect(text).not.toMatch(/password|token:|secretKey/i);
    });

    it("runs as nobody, on a read-only root, with nothing but what it needs", () => {
      for (const workload of all().filter(({ kind }) =>
        ["Deployment", "StatefulSet", "Pod"].includes(kind),
      )) {
        const spec = workload.kind === "Pod" ? workload.spec : workload.spec.template.spec;
        expect(spec.automountServiceAccountToken).toBe(false);
        expect(spec.enableServiceLinks).toBe(false);
        expect(spec.securityContext.runAsNonRoot).toBe(true);
        expect(spec.securityContext.seccompProfile.type).toBe("RuntimeDefault");
        for (const { securityContext } of spec.containers) {
          expect(securityContext.readOnlyRootFilesystem).toBe(true);
          expect(securityContext.allowPrivilegeEscalation).toBe(false);
          expect(securityContext.capabilities.drop).toEqual(["ALL"]);
        }
      }
    });

    it("selects in services, policies and budgets the pods that it makes", () => {
      const pods = all().flatMap(({ kind, spec, metadata }) => {
        if (kind === "Pod") return [metadata.labels];
        return kind === "Deployment" || kind === "StatefulSet" ? [spec.template.metadata.labels] : [];
      });
      for (const { kind, metadata, spec } of all()) {
        const selector =
          kind === "Service"
            ? { matchLabels: spec.selector }
            : kind === "NetworkPolicy"
              ? spec.podSelector
              : ["PodDisruptionBudget", "Deployment", "StatefulSet"].includes(kind)
                ? spec.selector
                : undefined;
        if (selector === undefined) continue;
        const matching = pods.filter((labels) => selects(selector, labels));
        // Two objects are for the pods of several roles, where these are split.
        const many =
          name === SPLIT ? ["NetworkPolicy release-baton", "Service release-baton-background"] : [];
        if (many.includes(`${kind} ${metadata.name}`)) expect(matching.length).toBeGreaterThan(1);
        else expect(matching, `${kind} ${metadata.name}`).toHaveLength(1);
      }
    });
  });

  it("H16 every template is rendered by some set, and by no set alone what is not asked for", async () => {
    const sources = new Set<string>();
    for (const text of rendered.values()) {
      for (const [, source] of text.matchAll(/^# Source: baton\/(.+)$/gm)) sources.add(source ?? "");
    }
    const files = readdirSync(join(CHART, "templates"), { recursive: true, encoding: "utf8" });
    expect([...sources].sort()).toEqual(
      files
        .filter((file) => file.endsWith(".yaml"))
        .map((file) => `templates/${file}`)
        .sort(),
    );
    expect(kinds(await template(BASE))).toEqual([
      "ConfigMap",
      "Deployment",
      "NetworkPolicy",
      "Pod",
      "PodDisruptionBudget",
      "Service",
      "Service",
      "ServiceAccount",
    ]);
  });

  it.each([
    ["replicas", { replicas: "two" }, /replicas/],
    ["H7 a key that the chart does not have", { gateway: { startupProbe: {} } }, /gateway/],
    ["H7 a key inside a probe", { probes: { readiness: { httpGet: {} } } }, /httpGet/],
    ["a key that the program does not have", { config: { limits: { bodybytes: 1 } } }, /bodybytes/],
    ["a value that the program refuses", { config: { streams: { perEndpoint: 0 } } }, /perEndpoint/],
    ["what the chart decides", { config: { listen: { port: 1 } } }, /port/],
    ["an admin token in the values", { config: { admin: { token: "x".repeat(20) } } }, /token/],
    ["a Redis beside the chart's", { config: { redis: { url: "redis://x" } } }, /redis/],
    ["a service type", { service: { type: "Cluster" } }, /service.*type/s],
    ["a digest", { image: { digest: "latest" } }, /digest/],
    ["a network policy rule", { networkPolicy: { extraEgress: "all" } }, /extraEgress/],
  ])("a bad value fails and is named: %s", async (_what, bad, named) => {
    expect(await refusal({ ...BASE, ...bad })).toMatch(named);
  });

  it.each([
    ["H17 no admin secret", { admin: { existingSecret: "" } }, /admin\.existingSecret: name a secret/],
    ["no Redis", { redis: { url: "" } }, /redis: give exactly one of .* found: none/],
    ["two of them", { redis: { url: "redis://x", bundled: { enabled: true } } }, /found: url, bundled/],
    ["a password in the address", { redis: { url: "redis://:hunter2@x" } }, /redis\.url: must not hold/],
    ["a key of no secret", { redis: { url: "", urlKey: "url" } }, /redis\.existingSecret: name the secret/],
    [
      "routes of two kinds under one name",
      {
        httpRoute: { enabled: true, parentRefs: [{ name: "g" }], hostnames: ["a.example"] },
        grpcRoute: { enabled: true, parentRefs: [{ name: "g" }], hostnames: ["a.example"] },
      },
      /grpcRoute\.hostnames: a\.example/,
    ],
    ["a route to nowhere", { httpRoute: { enabled: true } }, /httpRoute\.parentRefs: name the gateway/],
    ["an Ingress for nobody", { ingress: { enabled: true } }, /ingress\.hosts: name a host/],
    [
      "fewest above most",
      { autoscaling: { enabled: true, minReplicas: 5, maxReplicas: 2 } },
      /autoscaling\.minReplicas/,
    ],
  ])("half a configuration fails with a sentence: %s", async (_what, bad, sentence) => {
    expect(await refusal({ ...BASE, ...bad })).toMatch(sentence);
  });

  it("a field of the wrong type, a missing one and an unknown one would be found", () => {
    const broken = (change: (deployment: Manifest) => void) => {
      const deployment = one(manifests(rendered.get("the least") ?? ""), "Deployment");
      change(deployment);
      return problemsOf(deployment).join();
    };
    expect(broken(({ spec }) => Object.assign(spec, { replicas: "2" }))).toMatch(/replicas/);
    expect(broken(({ spec }) => delete spec.template)).toMatch(/template/);
    const misspelt = broken(({ spec }) => Object.assign(spec.template.spec, { enableServiceLink: true }));
    expect(misspelt).toBe("/spec/template/spec/enableServiceLink is not a field");
  });

  it("H5 leaves the number of pods to the autoscaler where there is one", async () => {
    const fixed = one(manifests(rendered.get("the least") ?? ""), "Deployment");
    const scaled = manifests(rendered.get("more pods by load") ?? "");
    expect(fixed.spec.replicas).toBe(2);
    expect(one(scaled, "Deployment").spec).not.toHaveProperty("replicas");
    expect(one(scaled, "HorizontalPodAutoscaler").spec).toMatchObject({
      minReplicas: 3,
      maxReplicas: 9,
      behavior: {
        scaleUp: { stabilizationWindowSeconds: 0 },
        scaleDown: { stabilizationWindowSeconds: 300 },
      },
      scaleTargetRef: { kind: "Deployment", name: "release-baton" },
    });
  });

  it("H20 makes a disruption budget for two pods and more, and says what one pod means", async () => {
    expect(kinds(manifests(rendered.get("one pod") ?? ""))).not.toContain("PodDisruptionBudget");
    expect(one(manifests(rendered.get("the least") ?? ""), "PodDisruptionBudget").spec.maxUnavailable).toBe(
      1,
    );
    const notes = (values: object) =>
      withValues(values, (file) =>
        runHelm(["install", "release", CHART, "--dry-run=client", "--values", file]),
      );
    expect(await notes({ ...BASE, replicas: 1 })).toMatch(/One pod: a node drain/);
    expect(await notes(BASE)).not.toMatch(/One pod:/);
  });

  it("H14 gives the drain the time that it takes, and the program the same time", async () => {
    const objects = await template({
      ...BASE,
      drain: { preStopSeconds: 7, delaySeconds: 9, graceSeconds: 40 },
    });
    const { spec } = one(objects, "Deployment").spec.template;
    const [{ args, lifecycle }] = spec.containers;
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(7 + 9 + 40 + 5);
    expect(parse(one(objects, "ConfigMap").data["baton.yaml"]).drain).toEqual({ delaySeconds: 9 });
    expect(args).toEqual(["serve", "--json", "--grace", "40s"]);
    expect(lifecycle.preStop.exec.command).toEqual(["node", "-e", "setTimeout(() => {}, 7000)"]);
  });

  it("makes a Deployment for each role where that is asked for, and only the gateway's takes calls", () => {
    const objects = manifests(rendered.get(SPLIT) ?? "");
    const deployments = objects.filter(({ kind }) => kind === "Deployment");
    const rolesOf = ({ spec }: (typeof objects)[number]) => spec.template.spec.containers[0].args.at(-1);
    expect(deployments.map(rolesOf).sort()).toEqual([...ROLES].sort());
    for (const deployment of deployments) {
      const [{ ports, args, lifecycle }] = deployment.spec.template.spec.containers;
      const gateway = rolesOf(deployment) === "gateway";
      expect(args.at(-2)).toBe("--roles");
      expect(ports.map(({ name }: { name: string }) => name)).toEqual(
        gateway ? ["main", "admin"] : ["admin"],
      );
      expect(lifecycle !== undefined).toBe(gateway);
      expect(deployment.metadata.labels["app.kubernetes.io/component"]).toBe(rolesOf(deployment));
    }
    const byName = (name: string) => one(objects, "Deployment", name).spec;
    expect(byName("release-baton-push").replicas).toBe(3);
    expect(byName("release-baton-push").template.spec.containers[0].resources.limits.memory).toBe("512Mi");
    expect(byName("release-baton-sweeper").template.spec.containers[0].resources.limits.memory).toBe("1Gi");
    // One for each role of two pods or more.
    const budgets = objects.filter(({ kind }) => kind === "PodDisruptionBudget");
    expect(budgets.map(({ metadata }) => metadata.name).sort()).toEqual([
      "release-baton",
      "release-baton-followers",
      "release-baton-push",
    ]);
    // The pods of every role reach Redis.
    const [rule] = one(objects, "NetworkPolicy", "release-baton-redis").spec.ingress;
    const pods = deployments.map(({ spec }) => spec.template.metadata.labels);
    expect(pods.every((labels) => selects(rule.from[0].podSelector, labels))).toBe(true);
  });

  it("B5 has alerts by queue and agent, so that one that is stuck is not hidden by its neighbours", async () => {
    const rules = async (roles: object) => {
      const objects = await template({ ...BASE, roles, metrics: { prometheusRule: { enabled: true } } });
      const { groups } = one(objects, "PrometheusRule").spec;
      return new Map<string, string>(
        groups.flatMap((group: Manifest) => group.rules.map(({ alert, expr }: Manifest) => [alert, expr])),
      );
    };
    const together = await rules({});
    expect(together.get("BatonWorkWaits")).toContain("max by (agent, queue)");
    expect(together.get("BatonPushesWait")).toContain("max by (agent)");
    expect(together.get("BatonPushesWait")).toContain('service="release-baton-admin"');
    // Pods of split roles are looked at, too.
    const split = await rules({ split: true });
    expect(split.get("BatonPushesWait")).toContain('service=~"release-baton-(admin|background)"');
  });

  it("H4 makes no secret, so that every one can be changed, and asks nothing about the release's history", () => {
    for (const text of rendered.values()) expect(kinds(manifests(text))).not.toContain("Secret");
    const folder = join(CHART, "templates");
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      if (!/\.(yaml|tpl|txt)$/i.test(name)) continue;
      const text = readFileSync(join(folder, name), "utf8");
      expect(text, name).not.toMatch(
        /\.Release\.(IsInstall|IsUpgrade)|\blookup\b|\brand(AlphaNum|Ascii|Bytes)\b/,
      );
    }
  });

  it("H8 needs no migration job: no hook but the test, since old and new pods share one Redis for a while", () => {
    for (const text of rendered.values()) {
      for (const { kind, metadata } of manifests(text)) {
        expect(kind).not.toBe("Job");
        const hook = metadata.annotations?.["helm.sh/hook"];
        if (hook !== undefined) expect(hook).toBe("test");
      }
    }
  });

  it("makes no pods for pushes where there are none", async () => {
    const objects = await template({ ...BASE, roles: { split: true } });
    const names = objects.filter(({ kind }) => kind === "Deployment").map(({ metadata }) => metadata.name);
    expect(names.sort()).toEqual(["release-baton", "release-baton-followers", "release-baton-sweeper"]);
  });

  it("speaks h2c to gateways, and https with a certificate", () => {
    const service = (name: string) =>
      one(manifests(rendered.get(name) ?? ""), "Service", "release-baton").spec.ports[0];
    expect(service("the least").appProtocol).toBe("kubernetes.io/h2c");
    expect(service("TLS").appProtocol).toBe("https");
  });

  describe("as a dependency of another chart", () => {
    let parent: string;
    beforeAll(async () => {
      parent = await mkdtemp(join(tmpdir(), "baton-parent-"));
      await mkdir(join(parent, "charts"), { recursive: true });
      await cp(CHART, join(parent, "charts", "baton"), { recursive: true });
      const chart = {
        apiVersion: "v2",
        name: "parent",
        version: "1.0.0",
        dependencies: [{ name: "baton", version: "0.1.0", condition: "baton.enabled" }],
      };
      await writeFile(join(parent, "Chart.yaml"), stringify(chart));
    });
    afterAll(() => rm(parent, { recursive: true, force: true }));

    it.each([true, false])("H1, H2 takes global values of any shape, and enabled: %s", async (enabled) => {
      const values = { global: { awsRegion: "x", image: { registry: "y" } }, baton: { ...BASE, enabled } };
      const text = await withValues(values, (file) => runHelm(["template", "p", parent, "--values", file]));
      expect(kinds(manifests(text)).includes("Deployment")).toBe(enabled);
    });

    it("renders nothing where it is off without a condition, and asks for nothing then", async () => {
      expect(await template({ enabled: false })).toEqual([]);
    });
  });

  it.each(["the least", "trial with a Redis beside it"])("golden file: %s", (name) => {
    const file = new URL(`golden/${name.replaceAll(" ", "-")}.txt`, import.meta.url);
    // Helm gives the objects of one kind in no fixed order.
    const text = (rendered.get(name) ?? "")
      .split(/^---\n/m)
      .sort()
      .join("---\n");
    if (process.env.BATON_UPDATE_GOLDEN === "1") writeFileSync(file, text);
    expect(text, "BATON_UPDATE_GOLDEN=1 writes it anew").toBe(readFileSync(file, "utf8"));
  });
});
