/** Judges manifests by the OpenAPI schemas of Kubernetes, as the package kubernetes-models compiled them. */
import { Deployment, StatefulSet } from "kubernetes-models/apps/v1";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2";
import { Ingress, NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { ConfigMap, Pod, Service, ServiceAccount } from "kubernetes-models/v1";
import type { Manifest } from "./helm.ts";

const MODELS = new Map<string, new (data: Manifest) => { validate(): void }>(
  Object.entries({
    "apps/v1/Deployment": Deployment,
    "apps/v1/StatefulSet": StatefulSet,
    "autoscaling/v2/HorizontalPodAutoscaler": HorizontalPodAutoscaler,
    "networking.k8s.io/v1/Ingress": Ingress,
    "networking.k8s.io/v1/NetworkPolicy": NetworkPolicy,
    "policy/v1/PodDisruptionBudget": PodDisruptionBudget,
    "v1/ConfigMap": ConfigMap,
    "v1/Pod": Pod,
    "v1/Service": Service,
    "v1/ServiceAccount": ServiceAccount,
  }),
);

/** Kinds of the Gateway API and the Prometheus Operator, whose schemas Kubernetes does not have. */
const CUSTOM = new Set(["GRPCRoute", "HTTPRoute", "PrometheusRule", "ServiceMonitor"]);

/**
 * What is wrong with a manifest: a type, a missing field, or a field that Kubernetes does not know. The schemas let
 * unknown fields pass, so those are found by what the validation never looked at.
 */
export function problemsOf(manifest: Manifest): readonly string[] {
  if (CUSTOM.has(manifest.kind)) return [];
  const Model = MODELS.get(`${manifest.apiVersion}/${manifest.kind}`);
  if (Model === undefined) return [`no schema for ${manifest.apiVersion}/${manifest.kind}`];
  const unread = new Set<string>();
  const model = new Model(manifest);
  // Only now: the constructor reads everything, to copy it.
  for (const [key, value] of Object.entries(model)) {
    Object.assign(model, { [key]: watch(value, `/${key}`, unread) });
  }
  try {
    model.validate();
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  return [...unread].map((path) => `${path} is not a field`);
}

/** The same value; each of its paths stands in `unread` until somebody reads it. */
function watch(value: Manifest, path: string, unread: Set<string>): Manifest {
  if (typeof value !== "object" || value === null) return value;
  const isArray = Array.isArray(value);
  const inner: Manifest = isArray ? [] : {};
  for (const [key, each] of Object.entries(value)) {
    inner[key] = watch(each, `${path}/${key}`, unread);
    if (!isArray) unread.add(`${path}/${key}`);
  }
  return new Proxy(inner, {
    get(target, key, receiver) {
      unread.delete(`${path}/${String(key)}`);
      return Reflect.get(target, key, receiver);
    },
  });
}
