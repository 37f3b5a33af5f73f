import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "node",
    include: ["test/**/*.test.ts"],
    // Runs of many minutes; they have their own command.
    exclude: ["test/long/**", "node_modules/**", "dist/**"],
    // A process a file: a test that kills, leaks or blocks cannot touch its neighbours.
    pool: "forks",
    maxWorkers: 2,
    // Generous, because the tests start real servers on machines that may be busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // CI machines are shared and may stall for seconds; what fails three times in a row is a fault.
    retry: process.env.CI === undefined ? 0 : 2,
    reporters: ["default", "./test/reporter/summary.ts"],
  },
});
