import type { z } from "zod";
import { Application } from "@tradewind/core/contract/application.ts";
import { Plan } from "@tradewind/core/contract/plan.ts";
import {
  DecisionRecord,
  RecommendationList,
  RECOMMENDATIONS_SCHEMA,
} from "@tradewind/core/contract/recommendation.ts";
import { RunReport } from "@tradewind/core/contract/run-report.ts";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { SWEEP_SCHEMA, SweepRow } from "@tradewind/core/contract/sweep.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { WorkloadList, WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { canonicalJson } from "@tradewind/core/values/hash.ts";
import { decideWish } from "../../exporter/decide-wish.ts";
import { parseApplication } from "@tradewind/kubernetes/application/file.ts";
import { emptyState, PolicyState } from "@tradewind/predictor/decide/state.ts";
import { replay } from "@tradewind/predictor/decide/replay.ts";
import { PredictorOptions } from "@tradewind/predictor/run/process/options.ts";
import { ExporterOptions } from "@tradewind/exporter/options.ts";
import { AgentOptions } from "@tradewind/agent/options.ts";
import { NO_LIMITS } from "../../exporter/wish.ts";
import { flow, inputs, window, windowSet } from "../../predictor/measurements.ts";
import { snapshot } from "../../predictor/sources/snapshots.ts";
import { attempt, documented, expect, expectEqual, expectNumbers } from "../engine/oracle.ts";
import type { Target } from "../engine/target.ts";
import { valueTarget } from "./kinds.ts";
import { NOW_MS, PLAN, WISH } from "./plan.ts";

const invalidInput = documented("invalid-input");

/**
 * A document that crosses a process: read, or refused with `invalid-input`. What was read has finite numbers only, and
 * reads the same after it was written again.
 */
function contract(name: string, schema: z.ZodType, seeds: readonly unknown[], writes = true): Target {
  for (const seed of seeds) parseWith(schema, seed, `the seed of ${name}`);
  return valueTarget(`contract/${name}`, seeds, (value) => {
    const read = attempt(() => parseWith(schema, value, name), invalidInput);
    if (read === undefined) return;
    expectNumbers(read, Number.NEGATIVE_INFINITY);
    if (!writes) return;
    const again = schema.safeParse(JSON.parse(JSON.stringify(read)));
    expect(
      again.success,
      "round-trip",
      () => `what was read is refused when it is read again: ${again.error?.message ?? ""}`,
    );
    expectEqual(canonicalJson(again.data), canonicalJson(read), "round-trip");
  });
}

const WINDOWS = windowSet(
  [
    window({
      service: "frontend",
      replicas: 2,
      rate: 20,
      ownSeconds: 0.01,
      podUsageCores: 0.4,
      throttled: 0.1,
    }),
  ],
  [flow(["frontend"], 0.15)],
);
const STEPPED = {
  ...PLAN,
  complete: true,
  mode: "act",
  windowSeconds: 15,
  wishes: [
    {
      ...WISH,
      reasons: [{ code: "replicas", fromReplicas: 2, toReplicas: 4 }, { code: "of-a-later-release" }],
      steps: [
        {
          order: 1,
          resource: "cpu",
          direction: "up",
          from: 0.2,
          to: 0.4,
          why: "gain",
          tailBeforeSeconds: 0.3,
          tailAfterSeconds: 0.2,
          costPerHour: 0.01,
        },
      ],
    },
  ],
};

const RULES = {
  limitsOf: () => NO_LIMITS,
  exporterStartedAtMs: NOW_MS - 1e6,
  staleAfterSeconds: 300,
  restartGraceSeconds: 120,
};
const DECIDED = decideWish(WISH, PLAN, { exporterStartedAtMs: NOW_MS - 1e6 }, RULES);
const RECORD = "record" in DECIDED ? DECIDED.record : undefined;

const APPLICATION = {
  name: "shop",
  namespace: "shop",
  entry: "frontend",
  objective: { percentile: 0.95, milliseconds: 250 },
  services: [
    {
      name: "geo",
      workload: { kind: "Deployment", name: "geo" },
      minReplicas: 2,
      maxReplicas: 20,
      cpu: { minCores: 0.1, maxCores: 4, stepCores: 0.1 },
      memory: { minBytes: 64e6, maxBytes: 4e9, stepBytes: 1e8 },
    },
  ],
  budget: { pods: 40 },
  mode: "act",
  resize: "limits",
  prices: { cpuCoreHour: 0.03, memoryGigabyteHour: 0.004 },
};

const SNAPSHOT = snapshot(
  [
    {
      id: "c1",
      sampledAtMs: 1_900,
      cpu: { usageSecondsTotal: 5, limitCores: 1 },
      cpuInterference: 0.2,
      interferenceSeconds: 3,
    },
  ],
  {
    inventory: {
      cpuModel: "Xeon",
      disks: [{ name: "vda", kind: "ssd" }],
      networkInterfaces: [{ name: "eth0", bytesPerSecond: 1e9 }],
    },
    signals: { "cpu.busyRatio": { value: 0.4, sampledAtMs: 1_900, ageSeconds: 0.1 } },
  },
);

const WORKLOADS = {
  schema: WORKLOADS_SCHEMA,
  observedAtMs: NOW_MS,
  workloads: [
    {
      namespace: "shop",
      kind: "Deployment",
      name: "geo",
      service: "geo",
      replicasWanted: 2,
      replicasReady: 2,
      minReplicas: 1,
      maxReplicas: 20,
      pods: [
        {
          uid: "u1",
          name: "geo-1",
          node: "node-1",
          ready: true,
          startedAtMs: 1,
          createdAtMs: 1,
          readyAtMs: 2,
          containers: [
            {
              id: "c1",
              name: "main",
              pid: 12,
              cpuRequestCores: 0.1,
              cpuLimitCores: 1,
              memoryLimitBytes: 1e9,
            },
          ],
        },
      ],
    },
  ],
  nodes: [{ name: "node-1", schedulable: true, cpuCores: 4, memoryBytes: 8e9, pods: 110 }],
  quotas: [{ namespace: "shop", name: "q", hard: { cpuRequestCores: 10 }, used: { pods: 3 } }],
};

const SERVED = {
  schema: RECOMMENDATIONS_SCHEMA,
  servedAtMs: NOW_MS,
  predictor: { reachable: false, problem: "silent", lastPlanAtMs: 1, policy: "queue", policyReason: "r" },
  recommendations: [
    {
      namespace: "shop",
      application: "hotel",
      service: "geo",
      replicas: 4,
      policy: "queue",
      confidence: 0.5,
      reason: "share",
      decidedAtMs: 1,
      validUntilMs: 2,
      decisionId: "0-ab",
      ageSeconds: 1,
      valid: true,
      wished: { replicas: 3 },
      guard: [{ step: "bounds", reason: "min", reasons: [{ code: "min-replicas", minReplicas: 4 }] }],
    },
  ],
};

const REPORT = {
  version: "0.1.0",
  seed: 7,
  policy: "auto",
  application: "hotel",
  objectiveMs: 250,
  durationS: 150,
  spans: 1,
  windows: 1,
  recommendations: 1,
  actuations: 1,
  keda: { rpcs: 1, errors: 0, p99Ms: 2 },
  agent: { samples: 1, cpuRatio: 0.01, rssBytes: 9e7 },
  phases: [
    {
      name: "calm",
      fromS: 0,
      toS: 1,
      requests: 1,
      failed: 0,
      p95Ms: null,
      violationRatio: 0,
      replicasMean: 1,
      cpuCoresMean: 1,
    },
  ],
};

const INPUTS = inputs(WINDOWS);
const BUSY = inputs(
  windowSet(
    [
      window({ service: "frontend", replicas: 2, rate: 40, ownSeconds: 0.02, podUsageCores: 0.7 }),
      window({ service: "geo", replicas: 3, rate: 40, ownSeconds: 0.2, podUsageCores: 0.9, throttled: 0.4 }),
    ],
    [flow(["frontend", "geo"], 0.6)],
  ),
  { choice: "queue" },
);

/** Whatever inputs hold to the contract, the policies come to a plan that does. */
const policies = valueTarget("policy/replay", [INPUTS, BUSY], (value) => {
  const outcome = attempt(() => replay(value), documented("invalid-input"));
  if (outcome === undefined) return;
  const plan = { schema: PLAN.schema, sequence: 1, predictorStartedAtMs: 1, ...outcome.plan };
  const parsed = Plan.safeParse(plan);
  expect(parsed.success, "plan", () => `the plan is not valid: ${parsed.error?.message ?? ""}`);
  const state = PolicyState.safeParse(outcome.state);
  expect(state.success, "state", () => `the state is not valid: ${state.error?.message ?? ""}`);
  for (const { allocation, bounds, service } of outcome.plan.wishes) {
    const { maxReplicas, minReplicas } = bounds;
    const isWithin = allocation.replicas >= minReplicas && allocation.replicas <= maxReplicas;
    expect(
      isWithin,
      "bounds",
      () => `${service} gets ${allocation.replicas} of ${minReplicas} to ${maxReplicas}`,
    );
  }
});

export const CONTRACT_TARGETS: readonly Target[] = [
  contract("agent-options", AgentOptions, [
    { node: "n", linkBytesPerSecond: { eth0: 1e9 }, cgroupRoots: ["/a/"] },
  ]),
  contract("application", Application, [
    APPLICATION,
    { entry: "frontend", objective: { milliseconds: 250 } },
  ]),
  valueTarget("contract/application-rules", [APPLICATION], (value) => {
    attempt(() => parseApplication(value, "it"), documented("invalid-input", "invalid-config"));
  }),
  contract("decision", DecisionRecord, [RECORD]),
  contract(
    "exporter-options",
    ExporterOptions,
    [{ predictor: "http://a:1,dns+http://b:2", staleAfter: "90s" }],
    false,
  ),
  contract("plan", Plan, [PLAN, STEPPED]),
  contract("policy-state", PolicyState, [
    emptyState("shop", "shop"),
    { ...emptyState("shop", "shop"), ...memory() },
  ]),
  contract("predictor-options", PredictorOptions, [
    { config: "a.yaml", agents: ["http://a:1"], peers: ["dns+http://b:1"] },
  ]),
  contract("recommendations", RecommendationList, [SERVED]),
  contract("run-report", RunReport, [REPORT]),
  contract("snapshot", Snapshot, [SNAPSHOT]),
  contract("sweep", SweepRow, [
    {
      schema: SWEEP_SCHEMA,
      configuration: { id: "a", replicas: 1, cpuCores: 0.5, requestsPerSecond: 10, interference: "none" },
      settled: true,
      window: WINDOWS.windows[0],
      flows: WINDOWS.flows,
    },
  ]),
  contract("windows", WindowSet, [WINDOWS]),
  contract("workloads", WorkloadList, [WORKLOADS]),
  policies,
];

function memory(): object {
  return {
    windowEndMs: 1,
    shrunkAtMs: 1,
    shrunkServices: ["geo"],
    growth: { severity: 1, requestsPerSecond: 1, congestedReplicas: 1, podsAdded: 1 },
    futile: { untilMs: 1, severity: 1, times: 1 },
    services: [{ service: "geo", replicas: 3, seenAtMs: 1, ownRequests: 0.1, cpuCores: 0.4 }],
  };
}
