import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { limitProblem, OBJECT_LIMITS } from "@tradewind/core/values/json-limits.ts";
import { calendarTimes } from "@tradewind/kubernetes/application/calendar-times.ts";
import { parseApplication } from "@tradewind/kubernetes/application/file.ts";
import { HorizontalPodAutoscaler, ScaledObject } from "@tradewind/kubernetes/objects/autoscaler.ts";
import { ResourceQuota } from "@tradewind/kubernetes/objects/capacity.ts";
import { PodDisruptionBudget } from "@tradewind/kubernetes/objects/disruption-budget.ts";
import { Pod } from "@tradewind/kubernetes/objects/pod.ts";
import { scalable } from "@tradewind/kubernetes/objects/scalable.ts";
import { VerticalPodAutoscaler } from "@tradewind/kubernetes/objects/vpa.ts";
import { workloadList } from "@tradewind/kubernetes/workloads/workload-list.ts";
import type { ClusterObjects } from "@tradewind/kubernetes/workloads/workload-list.ts";
import type { z } from "zod";
import { deployment, podOf } from "../../test/kubernetes/cluster-objects.ts";
import type { Target } from "./climb.ts";
import { enlarged, grown, jsonOf } from "./grow.ts";

/** Of one object; etcd takes 1.5 MB. */
const MOST_BYTES = 1_000_000;
const SHARES = 8;
const NOW_MS = 1_800_000_000_000;
const META = { name: "geo", namespace: "shop", uid: "u-1", resourceVersion: "5" };
const CALENDAR = {
  name: "day",
  from: "0 8 * * 1-5",
  until: "0 18 * * 1-5",
  timeZone: "Europe/Zurich",
  except: ["2026-12-25"],
  floor: { replicas: 3 },
};
const APPLICATION = {
  name: "shop",
  namespace: "shop",
  entry: "frontend",
  objective: { milliseconds: 250 },
  mode: "act",
  services: [{ name: "geo", workload: { kind: "Deployment", name: "geo" }, minReplicas: 2 }],
  calendars: [CALENDAR],
};
const SCALED_OBJECT = {
  metadata: { ...META, annotations: { a: "b" } },
  spec: {
    scaleTargetRef: { name: "geo" },
    minReplicaCount: 0,
    maxReplicaCount: 20,
    triggers: [
      { type: "external", metricType: "AverageValue", metadata: { service: "geo", scalerAddress: "a:1" } },
    ],
  },
};
const VPA = {
  metadata: { ...META, generation: 2 },
  spec: {
    targetRef: { kind: "Deployment", name: "geo" },
    resourcePolicy: { containerPolicies: [{ containerName: "*", minAllowed: { cpu: "50m" } }] },
    recommenders: [{ name: "tradewind" }],
  },
};
const DEPLOYMENT = deployment("geo", {
  env: [
    { name: "OTEL_SERVICE_NAME", value: "geo" },
    { name: "OTEL_RESOURCE_ATTRIBUTES", value: "service.name=geo,a=b" },
  ],
  podLabels: { "app.kubernetes.io/name": "geo" },
  requests: { cpu: "250m", memory: "128Mi" },
});

const HPA = {
  metadata: META,
  spec: {
    scaleTargetRef: { kind: "Deployment", name: "geo" },
    minReplicas: 1,
    maxReplicas: 20,
    metrics: [{ type: "External", external: { metric: { name: "s0-recommended-replicas" } } }],
  },
};
const QUOTA = {
  metadata: META,
  spec: { hard: { pods: "10" } },
  status: { hard: { "requests.cpu": "4" }, used: { "requests.cpu": "1" } },
};
const BUDGET = {
  metadata: { ...META, generation: 1 },
  spec: {
    selector: {
      matchLabels: { app: "geo" },
      matchExpressions: [{ key: "app", operator: "In", values: ["geo"] }],
    },
  },
  status: { disruptionsAllowed: 1, observedGeneration: 1 },
};

const one = <Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema>[] => {
  const { data, success } = schema.safeParse(value);
  return success ? [data] : [];
};

/** A selector is compared with each of them. */
const PODS = Array.from({ length: 20 }, (_, index) =>
  podOf("geo", index, { owner: { kind: "Deployment", name: "geo", uid: "deployment-geo" } }),
);

/** What a watch of the cluster makes of one object beside others that are as they should be. */
function resolve(objects: Partial<ClusterObjects>): void {
  const pods = PODS.flatMap((each) => one(Pod, each));
  const none = { scalables: one(scalable("Deployment"), DEPLOYMENT), replicaSets: [], pods };
  const others = { horizontalPodAutoscalers: [], scaledObjects: [], quotas: [], budgets: [], nodes: [] };
  workloadList({ ...none, ...others, ...objects }, () => undefined, NOW_MS);
}

function applied(value: unknown): void {
  try {
    for (const calendar of parseApplication(value, "it").calendars) calendarTimes(calendar).windowAt(NOW_MS);
  } catch (error) {
    if (!(error instanceof TradewindError)) throw error;
    describeError(error);
  }
}

const READERS: readonly {
  readonly name: string;
  readonly seed: unknown;
  readonly read: (value: unknown) => void;
}[] = [
  { name: "Application", seed: APPLICATION, read: applied },
  {
    name: "Deployment",
    seed: DEPLOYMENT,
    read: (value) => resolve({ scalables: one(scalable("Deployment"), value) }),
  },
  { name: "Pod", seed: podOf("geo", 1), read: (value) => resolve({ pods: one(Pod, value) }) },
  {
    name: "ScaledObject",
    seed: SCALED_OBJECT,
    read: (value) => resolve({ scaledObjects: one(ScaledObject, value) }),
  },
  {
    name: "HorizontalPodAutoscaler",
    seed: HPA,
    read: (value) => resolve({ horizontalPodAutoscalers: one(HorizontalPodAutoscaler, value) }),
  },
  { name: "ResourceQuota", seed: QUOTA, read: (value) => resolve({ quotas: one(ResourceQuota, value) }) },
  {
    name: "PodDisruptionBudget",
    seed: BUDGET,
    read: (value) => resolve({ budgets: one(PodDisruptionBudget, value) }),
  },
  { name: "VerticalPodAutoscaler", seed: VPA, read: (value) => VerticalPodAutoscaler.safeParse(value) },
];

/** What a reader throws is for the fuzzer to judge; here it costs what it cost. */
function problemOf(work: () => void): string {
  try {
    work();
    return "";
  } catch (error) {
    return `threw ${describeError(error).slice(0, 80)}: `;
  }
}

/** Objects that whoever may write in one namespace can make, read as the scaler and the predictor read them. */
export const objectTargets = (): Target<unknown>[] =>
  READERS.map(({ name, read, seed }) => ({
    name,
    shares: SHARES,
    sample: seed,
    enlarged: () => enlarged(seed, MOST_BYTES),
    change: (rng, value) => grown(rng, value, MOST_BYTES),
    cost: async (value) => {
      const text = jsonOf(value);
      if (text.length > MOST_BYTES) return undefined;
      const before = process.threadCpuUsage();
      const problem = limitProblem(text, OBJECT_LIMITS) ?? problemOf(() => read(JSON.parse(text)));
      const { system, user } = process.threadCpuUsage(before);
      return {
        cpuSeconds: (system + user) / 1e6,
        bytes: Buffer.byteLength(text),
        about: `${problem}${text.slice(0, 80)}`,
      };
    },
  }));
