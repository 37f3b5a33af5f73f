/** Installations that the chart has to be good for. Each is linted, rendered and checked as a whole. */
import { BASE } from "./helm.ts";

const SECRET_REDIS = {
  admin: { existingSecret: "baton" },
  redis: { existingSecret: "baton", urlKey: "redis-url" },
};
const PUSH = { push: { existingSecret: "baton" } };

/** The set with a Deployment for each role. */
export const SPLIT = "a Deployment for each role";

export const VALUE_SETS: Readonly<Record<string, object>> = {
  "the least": BASE,
  "trial with a Redis beside it": {
    admin: { existingSecret: "baton" },
    ...PUSH,
    redis: { bundled: { enabled: true } },
  },
  "trial with a password": {
    admin: { existingSecret: "baton" },
    redis: {
      bundled: {
        enabled: true,
        existingSecret: "baton",
        passwordKey: "redis-password",
        storageClass: "fast",
      },
    },
  },
  "Redis address in a secret": { ...SECRET_REDIS, ...PUSH },
  Sentinel: {
    admin: { existingSecret: "baton", key: "token" },
    ...PUSH,
    redis: {
      existingSecret: "redis",
      passwordKey: "password",
      username: "baton",
      sentinel: {
        name: "mymaster",
        nodes: [
          { host: "s1", port: 26379 },
          { host: "s2", port: 26379 },
        ],
      },
      waitReplicas: 1,
    },
  },
  Cluster: {
    ...BASE,
    redis: {
      cluster: {
        nodes: [
          { host: "c1", port: 7000 },
          { host: "c2", port: 7000 },
        ],
      },
      persistence: "accept-loss",
    },
  },
  [SPLIT]: {
    admin: { existingSecret: "baton" },
    ...PUSH,
    redis: { bundled: { enabled: true } },
    roles: { split: true, push: { replicas: 3, resources: { limits: { memory: "512Mi" } } } },
  },
  "one pod": { ...BASE, replicas: 1 },
  "more pods by load": {
    ...BASE,
    autoscaling: {
      enabled: true,
      minReplicas: 3,
      maxReplicas: 9,
      behavior: { scaleUp: { stabilizationWindowSeconds: 0 } },
    },
  },
  TLS: { ...BASE, tls: { existingSecret: "tls" } },
  Ingress: {
    ...BASE,
    ingress: {
      enabled: true,
      className: "nginx",
      annotations: { "nginx.ingress.kubernetes.io/backend-protocol": "GRPC" },
      hosts: [
        { host: "a2a.example.com", paths: [{ path: "/", pathType: "Prefix" }] },
        { host: "b.example.com" },
      ],
      tls: [{ secretName: "tls", hosts: ["a2a.example.com"] }],
    },
  },
  "Gateway API": {
    ...BASE,
    httpRoute: { enabled: true, parentRefs: [{ name: "public" }], hostnames: ["a2a.example.com"] },
    grpcRoute: { enabled: true, parentRefs: [{ name: "public" }], hostnames: ["grpc.example.com"] },
  },
  monitoring: {
    ...BASE,
    metrics: {
      serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
      prometheusRule: { enabled: true },
      dashboard: { enabled: true },
    },
    networkPolicy: { adminFrom: [{ namespaceSelector: { matchLabels: { name: "monitoring" } } }] },
  },
  traces: {
    ...BASE,
    config: {
      telemetry: { traces: { otlpUrl: "http://collector.observability:4318", sampleRatio: 0.1 } },
    },
    networkPolicy: { tracesTo: [{ namespaceSelector: { matchLabels: { name: "observability" } } }] },
  },
  "without network policy and disruption budget": {
    ...BASE,
    networkPolicy: { enabled: false },
    podDisruptionBudget: { enabled: false },
    serviceAccount: { create: false },
  },
  "pushes into the operator's own network": {
    ...SECRET_REDIS,
    ...PUSH,
    config: {
      push: {
        ports: [443, "8000-8100"],
        allow: [
          { cidr: "10.20.0.0/16", ports: [80, "9000-9010"], plaintext: true },
          { cidr: "10.30.0.7" },
          { cidr: "fd12::7" },
        ],
      },
    },
    networkPolicy: { redisPorts: [6380], redisTo: [{ ipBlock: { cidr: "10.9.0.0/24" } }] },
  },
  "agents and limits": {
    ...BASE,
    config: {
      publicUrl: "https://a2a.example.com",
      defaultAgent: "support",
      agents: {
        support: {
          queues: ["urgent", "normal"],
          defaultQueue: "normal",
          card: { name: "Support", description: "Answers." },
        },
        billing: {},
      },
      limits: { bodyBytes: 2_000_000, perEndpoint: { perSecond: 200, burst: 400 } },
      retention: { maxTasks: 10_000_000 },
      telemetry: { log: { calls: "errors" } },
      listen: { trustedProxies: ["10.0.0.0/8"] },
    },
  },
  "everything on the pods": {
    ...BASE,
    fullnameOverride: "gateway",
    image: { repository: "registry.example/baton", digest: `sha256:${"a".repeat(64)}` },
    imagePullSecrets: [{ name: "pull" }],
    podAnnotations: { "example.com/a": "1" },
    podLabels: { team: "a2a" },
    nodeSelector: { "kubernetes.io/arch": "amd64" },
    tolerations: [{ key: "x", operator: "Exists" }],
    affinity: { nodeAffinity: {} },
    topologySpreadConstraints: [{ maxSkew: 2, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
    priorityClassName: "high",
    extraEnv: [{ name: "NODE_OPTIONS", value: "--max-old-space-size=700" }],
    extraVolumes: [{ name: "ca", secret: { secretName: "ca" } }],
    extraVolumeMounts: [{ name: "ca", mountPath: "/etc/ca", readOnly: true }],
    probes: { startup: { periodSeconds: 1, failureThreshold: 99 }, readiness: { initialDelaySeconds: 3 } },
    drain: { preStopSeconds: 0, graceSeconds: 60 },
    service: { type: "LoadBalancer", port: 443, annotations: { "example.com/lb": "1" } },
    adminService: { annotations: { "example.com/a": "1" } },
    serviceAccount: { name: "own", annotations: { "example.com/role": "x" } },
    resources: { requests: { cpu: "1" } },
  },
  "as a part of a larger chart": {
    ...BASE,
    enabled: true,
    global: { awsRegion: "eu-central-1", deep: { er: 1 } },
  },
};
