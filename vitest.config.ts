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
    // Most of what tests do is wait; one process fewer than CPUs, the default, would leave one of two CPUs idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 20_000,
    hookTimeout: 30_000,
    restoreMocks: true,
  },
});
