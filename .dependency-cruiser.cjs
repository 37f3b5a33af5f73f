/**
 * The layers of Baton, as a check.
 *
 * Imports go downwards only. A folder that is not named in `mayImport` fails too, so a new folder under src/
 * has to be given its place here first.
 *
 * @type {import('dependency-cruiser').IConfiguration}
 */

// What stands beside the ladder, for any layer from the service upwards.
const BESIDE = ["push", "egress", "identity", "telemetry", "config"];

// Folder of src/ -> folders of src/ that it may import. Its own folder is always allowed.
const mayImport = {
  domain: [],
  egress: [],
  worker: [],
  // Runs in browsers, and knows the gateway by its admin services alone.
  console: [],
  config: ["domain"],
  telemetry: ["domain", "config"],
  redis: ["config", "telemetry"],
  store: ["domain", "redis", "config", "telemetry"],
  identity: ["domain", "store", "egress", "config", "telemetry"],
  push: ["domain", "store", "redis", "egress", "config", "telemetry"],
  backends: ["domain", "store", "egress", "identity", "config", "telemetry"],
  service: ["domain", "store", "backends", ...BESIDE],
  transports: ["domain", "service", ...BESIDE],
  server: ["domain", "store", "redis", "backends", "service", "transports", ...BESIDE],
  cli: ["domain", "store", "redis", "backends", "service", "transports", "server", "worker", ...BESIDE],
};

const layerRules = Object.entries(mayImport).map(([folder, targets]) => ({
  name: `layer-${folder}`,
  comment: `src/${folder} may import only: ${[folder, ...targets].join(", ")} (and gen).`,
  severity: "error",
  from: { path: `^src/${folder}/` },
  to: { path: "^src/", pathNot: `^src/(${[folder, ...targets].join("|")})/` },
}));

module.exports = {
  forbidden: [
    ...layerRules,
    {
      name: "layer-known",
      comment: "A folder of src/ without a place in the layers. Add it to mayImport.",
      severity: "error",
      from: { path: "^src/", pathNot: `^src/(${Object.keys(mayImport).join("|")})/` },
      to: {},
    },
    {
      name: "domain-is-pure",
      comment: "The domain does no I/O: no Node built-in but crypto and buffer, no client of anything.",
      severity: "error",
      from: { path: "^src/domain/" },
      to: {
        dependencyTypes: ["core"],
        pathNot: "^(node:)?(buffer|crypto|util)$",
      },
    },
    {
      name: "domain-few-packages",
      comment: "The domain may use the protobuf runtime, the generated code and nothing else from outside.",
      severity: "error",
      from: { path: "^src/domain/" },
      to: {
        dependencyTypes: ["npm", "npm-dev", "npm-optional", "npm-peer", "npm-no-pkg", "npm-unknown"],
        pathNot: "node_modules/@bufbuild/protobuf/",
      },
    },
    {
      name: "egress-stands-alone",
      comment: "The egress guard is published by itself: nothing from the rest of src, nothing generated.",
      severity: "error",
      from: { path: "^src/egress/" },
      to: { path: "^(gen|src)/", pathNot: "^src/egress/" },
    },
    {
      name: "redis-client-below-the-store",
      comment: "Only the store, what owns the server, push and the server's wiring talk to Redis.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(store|redis|push|server|cli)/" },
      to: { path: "node_modules/(redis|@redis|ioredis|bullmq)/" },
    },
    {
      name: "console-runs-in-browsers",
      comment:
        "The console is bundled for browsers: no Node, and few packages, because each is loaded by everyone.",
      severity: "error",
      from: { path: "^src/console/" },
      to: {
        path: "^(node:|node_modules/)",
        pathNot: "node_modules/(preact|@bufbuild/protobuf|@connectrpc/connect|@connectrpc/connect-web|vite)/",
      },
    },
    {
      name: "gen-is-a-leaf",
      severity: "error",
      from: { path: "^gen/" },
      to: { path: "^(src|test|bench|scripts)/" },
    },
    {
      name: "product-without-its-tools",
      comment: "The product imports neither tests, bench and scripts nor what only development installs.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(test|bench|scripts|examples)/" },
    },
    {
      name: "no-dev-dependency",
      comment: "What the console is made of is bundled into its files, and needs no installing.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/console/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg"], dependencyTypesNot: ["type-only"] },
    },
    { name: "no-cycle", severity: "error", from: {}, to: { circular: true } },
    {
      name: "resolvable",
      severity: "error",
      from: { path: "^src/" },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    // TypeScript 7 has no JavaScript interface, so the sources are parsed with swc.
    parser: "swc",
    // The parser reads no TSX; Biome's noRestrictedImports holds those files to the rule of the console.
    exclude: { path: "^src/console/.*\\.tsx$" },
    doNotFollow: { path: ["node_modules", "^gen/"] },
    moduleSystems: ["es6", "cjs"],
    // Type imports count: a layer that names a type of a higher layer is as bound to it as by a call.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default", "types"],
      extensions: [".ts", ".tsx", ".js", ".mjs", ".json", ".css", ".svg"],
    },
  },
};
