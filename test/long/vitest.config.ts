import { defineConfig } from "vitest/config";

/** Runs of many minutes, each with a command of its own in package.json. */
// biome-ignore lint/style/noDefaultExport: vitest takes its configuration from the default export.
export default defineConfig({
  test: {
    environment: "node",
    include: ["test/long/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 60_000,
  },
});
