import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Hundreds of processes are started that load the same modules: what Node.js has compiled once it need not compile again.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules", ".cache", "node-compile");

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["./test/property-seed.ts"],
    reporters: ["default", "./test/reporter.ts"],
    pool: "forks",
    // Half of what tests do is wait: one process for each CPU would leave a third of two CPUs idle.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    testTimeout: 45_000,
    hookTimeout: 30_000,
    restoreMocks: true,
  },
});
