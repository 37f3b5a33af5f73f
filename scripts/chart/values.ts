/** The shape of the chart's values. Strict everywhere but inside `global`, which belongs to parent charts (H1, H2). */
import { z } from "zod";

/** Parts of Kubernetes objects that are handed through; the API server knows their shape. */
const object = z.record(z.string(), z.unknown());
const objects = z.array(object);
const labels = z.record(z.string(), z.string());
const text = z.string();
const port = z.number().int().min(1).max(65_535);
const seconds = z.number().int().min(0).max(3600);
const pullPolicy = z.enum(["IfNotPresent", "Always", "Never"]);
const whenMade = { enabled: z.boolean(), annotations: labels };

const node = z.strictObject({ host: z.string().min(1), port });

const redis = z.strictObject({
  existingSecret: text,
  urlKey: text,
  passwordKey: text,
  url: z.string().regex(/^$|^rediss?:\/\/.+/),
  sentinel: z.strictObject({ name: z.string().min(1), nodes: z.array(node).min(1) }).or(z.strictObject({})),
  cluster: z.strictObject({ nodes: z.array(node).min(1) }).or(z.strictObject({})),
  username: text,
  waitReplicas: z.number().int().min(0).max(10),
  waitMilliseconds: z.number().int().min(1).max(60_000),
  persistence: z.enum(["require", "accept-loss"]),
  bundled: z.strictObject({
    enabled: z.boolean(),
    image: z.strictObject({ repository: z.string().min(1), tag: z.string().min(1), pullPolicy }),
    command: z.string().min(1),
    existingSecret: text,
    passwordKey: text,
    size: z.string().regex(/^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)?$/),
    storageClass: text,
    resources: object,
  }),
});

const route = { ...whenMade, parentRefs: objects, hostnames: z.array(z.string().min(1)), filters: objects };

const probe = z.strictObject({
  periodSeconds: z.number().int().min(1).optional(),
  failureThreshold: z.number().int().min(1).optional(),
  successThreshold: z.number().int().min(1).optional(),
  timeoutSeconds: z.number().int().min(1).optional(),
  initialDelaySeconds: z.number().int().min(0).optional(),
});

const role = z.strictObject({ replicas: z.number().int().min(0).max(1000), resources: object });

/** `config` is described by the program itself, and comes in later. */
export const valuesSchema = z.strictObject({
  enabled: z.boolean(),
  global: z.looseObject({}),
  nameOverride: text,
  fullnameOverride: text,
  image: z.strictObject({
    repository: z.string().min(1),
    tag: text,
    digest: z.string().regex(/^$|^sha256:[0-9a-f]{64}$/),
    pullPolicy,
  }),
  imagePullSecrets: objects,
  replicas: z.number().int().min(0).max(1000),
  roles: z.strictObject({ split: z.boolean(), push: role, followers: role, sweeper: role }),
  config: z.looseObject({}),
  admin: z.strictObject({ existingSecret: text, key: z.string().min(1) }),
  push: z.strictObject({ existingSecret: text, key: z.string().min(1) }),
  redis,
  service: z.strictObject({
    type: z.enum(["ClusterIP", "NodePort", "LoadBalancer"]),
    port,
    appProtocol: text,
    annotations: labels,
  }),
  adminService: z.strictObject({ port, annotations: labels }),
  tls: z.strictObject({ existingSecret: text }),
  ingress: z.strictObject({
    ...whenMade,
    className: text,
    hosts: z.array(
      z.strictObject({
        host: z.string().min(1),
        paths: z
          .array(
            z.strictObject({
              path: z.string().startsWith("/"),
              pathType: z.enum(["Prefix", "Exact", "ImplementationSpecific"]).optional(),
            }),
          )
          .optional(),
      }),
    ),
    tls: objects,
  }),
  httpRoute: z.strictObject(route),
  grpcRoute: z.strictObject(route),
  autoscaling: z.strictObject({
    enabled: z.boolean(),
    minReplicas: z.number().int().min(1).max(1000),
    maxReplicas: z.number().int().min(1).max(1000),
    targetCPUUtilizationPercentage: z.number().int().min(1).max(1000),
    metrics: objects,
    behavior: object,
  }),
  podDisruptionBudget: z.strictObject({
    enabled: z.boolean(),
    maxUnavailable: z.union([z.number().int().min(1), z.string().regex(/^[0-9]{1,3}%$/)]),
  }),
  networkPolicy: z.strictObject({
    enabled: z.boolean(),
    ingressFrom: objects,
    adminFrom: objects,
    redisTo: objects,
    redisPorts: z.array(port),
    tracesTo: objects,
    extraIngress: objects,
    extraEgress: objects,
  }),
  metrics: z.strictObject({
    serviceMonitor: z.strictObject({
      enabled: z.boolean(),
      interval: z.string().regex(/^[0-9]+(ms|s|m|h)$/),
      labels,
    }),
    prometheusRule: z.strictObject({
      enabled: z.boolean(),
      labels,
      readyAgeSeconds: z.number().int().min(1),
    }),
    dashboard: z.strictObject({ enabled: z.boolean(), labels }),
  }),
  drain: z.strictObject({
    preStopSeconds: seconds,
    delaySeconds: z.number().int().min(0).max(600),
    graceSeconds: seconds,
  }),
  probes: z.strictObject({ startup: probe, liveness: probe, readiness: probe }),
  resources: object,
  serviceAccount: z.strictObject({ create: z.boolean(), name: text, annotations: labels }),
  podAnnotations: labels,
  podLabels: labels,
  podSecurityContext: object,
  securityContext: object,
  nodeSelector: labels,
  tolerations: objects,
  affinity: object,
  topologySpreadConstraints: objects,
  priorityClassName: text,
  extraEnv: objects,
  extraVolumes: objects,
  extraVolumeMounts: objects,
});
