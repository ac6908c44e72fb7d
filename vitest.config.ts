import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Hundreds of processes are started that load the same modules: what Node.js has compiled once it need not compile again.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules", ".cache", "node-compile");

const ALL = "test/**/*.test.ts";

/** The files that take most of the time of all tests. `.ci/run` and `npm run test:all` run them; `npm test` leaves them out. */
const SLOW = [
  "agent/command",
  "bench/backtest",
  "charts/admission",
  "charts/alerts",
  "cli/commands",
  "cli/kubectl",
  "core/students/train-student",
  "e2e/hung-peer",
  "e2e/local",
  "e2e/several-applications",
  "exporter/decide/approval/change-queue",
  "exporter/decide/rollback/cases",
  "exporter/exporter-process",
  "exporter/plans/plan-source",
  "exporter/serve/keda/call-gate",
  "exporter/serve/keda/chaos",
  "exporter/serve/keda/contract",
  "exporter/serve/keda/replacement",
  "exporter/serve/keda/watchdog",
  "exporter/serve/web/console",
  "exporter/supervised",
  "predictor/clock-steps",
  "predictor/command",
  "predictor/commands/ask/explain",
  "predictor/decide/search",
  "predictor/kubernetes",
  "predictor/models/network/monotone",
  "predictor/predictor",
  "predictor/store/retention",
  "simulator/contenders/numbers",
  "simulator/course/full-cluster",
  "simulator/teacher/lessons",
  "simulator/teacher/td3/td3",
  "simulator/training/train-profile",
  "simulator/try/try",
].map((name) => `test/${name}.test.ts`);

const missing = SLOW.filter((path) => !existsSync(join(import.meta.dirname, path)));
if (missing.length > 0)
  throw new Error(`vitest.config.ts lists tests that are not there: ${missing.join(", ")}`);

export default defineConfig({
  test: {
    setupFiles: ["./test/property-seed.ts"],
    reporters: ["default", "./test/reporter.ts"],
    pool: "forks",
    // Half of what tests do is wait: one process for each CPU would leave a third of two CPUs idle.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    testTimeout: 45_000,
    hookTimeout: 30_000,
    restoreMocks: true,
    projects: [
      { extends: true, test: { name: "fast", include: [ALL], exclude: SLOW } },
      { extends: true, test: { name: "slow", include: SLOW, testTimeout: 180_000, hookTimeout: 120_000 } },
    ],
  },
});
