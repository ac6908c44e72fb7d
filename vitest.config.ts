import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Hundreds of processes are started that load the same modules: what Node.js has compiled once it need not compile again.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules", ".cache", "node-compile");

const ALL = "test/**/*.test.ts";

/** Files that take 10 s or more on two CPUs. `.ci/run` and `npm run test:all` run them; `npm test` leaves them out. */
const SLOW = [
  "agent/churn",
  "agent/command",
  "agent/run/node-agent",
  "agent/zoo",
  "application-fields",
  "bench/backtest",
  "bench/course/course",
  "bench/laws",
  "charts/admission",
  "charts/alerts",
  "charts/kubectl",
  "charts/network-policy",
  "charts/notes",
  "charts/objects",
  "charts/processes",
  "charts/render",
  "charts/rights",
  "charts/test-pods",
  "charts/values",
  "cli/commands",
  "cli/completion/completion",
  "cli/kubectl",
  "cli/main",
  "core/students/train-student",
  "e2e/high-availability",
  "e2e/hung-peer",
  "e2e/local",
  "e2e/override",
  "e2e/several-applications",
  "examples/examples",
  "exporter/controller/scene/leader",
  "exporter/decide/approval/change-queue",
  "exporter/decide/guard/limits",
  "exporter/decide/override/rights",
  "exporter/decide/override/scenarios",
  "exporter/decide/rollback/cases",
  "exporter/exporter-process",
  "exporter/plans/plan-source",
  "exporter/plans/predictor-choice",
  "exporter/serve/api/server",
  "exporter/serve/keda/call-gate",
  "exporter/serve/keda/chaos",
  "exporter/serve/keda/connections",
  "exporter/serve/keda/contract",
  "exporter/serve/keda/replacement",
  "exporter/serve/keda/sequence",
  "exporter/serve/keda/streams",
  "exporter/serve/keda/watchdog",
  "exporter/serve/web/approvals",
  "exporter/serve/web/console",
  "exporter/serve/web/fleet",
  "exporter/serve/web/overrides",
  "exporter/silence/alone",
  "exporter/supervised",
  "fuzz/fuzz",
  "kubernetes/init/init",
  "kubernetes/real",
  "local/application/fleet",
  "local/command",
  "predictor/answers/latest/sensitivities",
  "predictor/answers/patterns/failure-watch",
  "predictor/clock-steps",
  "predictor/command",
  "predictor/commands/ask/explain",
  "predictor/decide/decide-by-cost",
  "predictor/decide/search",
  "predictor/kubernetes",
  "predictor/many-applications",
  "predictor/models/network/monotone",
  "predictor/predictor",
  "predictor/run/application/gathering",
  "predictor/run/tenants",
  "predictor/sources/peers/peers",
  "predictor/sources/peers/strangers",
  "predictor/store/retention",
  "simulator/applications",
  "simulator/contenders/numbers",
  "simulator/course/course",
  "simulator/course/full-cluster",
  "simulator/course/silence",
  "simulator/teacher/lessons",
  "simulator/teacher/td3/td3",
  "simulator/teacher/train-teacher",
  "simulator/telemetry",
  "simulator/theory/queues",
  "simulator/training/train-profile",
  "simulator/try/applied",
  "simulator/try/insight",
  "simulator/try/try",
].map((name) => `test/${name}.test.ts`);
/** Each starts a control plane. */
const CLUSTER = "test/cluster/**/*.test.ts";

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
      { extends: true, test: { name: "fast", include: [ALL], exclude: [...SLOW, CLUSTER] } },
      {
        extends: true,
        test: { name: "slow", include: [...SLOW, CLUSTER], testTimeout: 180_000, hookTimeout: 120_000 },
      },
    ],
  },
});
