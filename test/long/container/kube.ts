/** The chart's objects as `podman play kube` takes them: it knows no StatefulSet and no names of services. */
import { stringify } from "yaml";
import type { Manifest } from "../../helm/helm.ts";

/** The Redis of the chart: its pod template and its claim, unchanged, as a Deployment. */
export function redisObjects(objects: readonly Manifest[]): string {
  const set = objects.find(({ kind }) => kind === "StatefulSet");
  const claims = set.spec.volumeClaimTemplates;
  const pod = structuredClone(set.spec.template);
  pod.spec.volumes = claims.map(({ metadata }: Manifest) => ({
    name: metadata.name,
    persistentVolumeClaim: { claimName: `redis-${metadata.name}` },
  }));
  for (const container of pod.spec.containers) {
    delete container.startupProbe;
    delete container.livenessProbe;
    delete container.ports;
  }
  // What fsGroup does in Kubernetes.
  const { runAsUser, fsGroup } = pod.spec.securityContext;
  const owner = { "volume.podman.io/uid": String(runAsUser), "volume.podman.io/gid": String(fsGroup) };
  return documents([
    ...claims.map(({ metadata, spec }: Manifest) => ({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: `redis-${metadata.name}`, annotations: owner },
      spec,
    })),
    deployment(set.metadata.name, pod),
  ]);
}

/** The gateway of the chart: its pod template and config map; the service of Redis is a line in /etc/hosts. */
export function gatewayObjects(objects: readonly Manifest[], redisIp: string): string {
  const [rendered] = objects.filter(({ kind }) => kind === "Deployment");
  const pod = structuredClone(rendered.spec.template);
  const service = objects.find(
    ({ kind, metadata }) => kind === "Service" && metadata.name.endsWith("-redis"),
  );
  pod.spec.hostAliases = [{ ip: redisIp, hostnames: [service.metadata.name] }];
  for (const container of pod.spec.containers) {
    // podman makes health checks of them that need a curl in the image; the test asks the ports itself.
    delete container.startupProbe;
    delete container.livenessProbe;
    // It would publish them on the same ports of the machine; the test comes by the address of the pod.
    delete container.ports;
  }
  const configMap = objects.find(({ kind }) => kind === "ConfigMap");
  return documents([configMap, deployment(rendered.metadata.name, pod)]);
}

/** What `podman secret create` takes for `secretKeyRef`; this podman cannot read the objects of Kubernetes that it stores. */
export function secretFile(values: Readonly<Record<string, string>>): string {
  const encoded = Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
  return JSON.stringify(Object.fromEntries(encoded));
}

function deployment(name: string, template: Manifest): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: { replicas: 1, selector: { matchLabels: template.metadata.labels }, template },
  };
}

function documents(objects: readonly object[]): string {
  return objects.map((object) => stringify(object)).join("---\n");
}
