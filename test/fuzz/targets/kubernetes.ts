import type { z } from "zod";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { refusal, refusalInWatch } from "@tradewind/kubernetes/client/api-error.ts";
import { readManifests } from "@tradewind/kubernetes/init/read-manifests.ts";
import { HorizontalPodAutoscaler, ScaledObject } from "@tradewind/kubernetes/objects/autoscaler.ts";
import { Node, ResourceQuota } from "@tradewind/kubernetes/objects/capacity.ts";
import { PodDisruptionBudget } from "@tradewind/kubernetes/objects/disruption-budget.ts";
import { Owned } from "@tradewind/kubernetes/objects/metadata.ts";
import { Pod } from "@tradewind/kubernetes/objects/pod.ts";
import { formatCores, formatMemory } from "@tradewind/core/values/amounts.ts";
import { parseQuantity } from "@tradewind/kubernetes/objects/quantity.ts";
import { scalable } from "@tradewind/kubernetes/objects/scalable.ts";
import { VerticalPodAutoscaler } from "@tradewind/kubernetes/objects/vpa.ts";
import { readLines } from "@tradewind/kubernetes/watch/lines.ts";
import { Reflector } from "@tradewind/kubernetes/watch/reflector.ts";
import { workloadList } from "@tradewind/kubernetes/workloads/workload-list.ts";
import { stringify } from "yaml";
import { deployment, podOf, replicaSet } from "../../kubernetes/cluster-objects.ts";
import { silentLog } from "../../kubernetes/silent-log.ts";
import { ByteMutator } from "../engine/bytes.ts";
import {
  attempt,
  attemptAsync,
  documented,
  expect,
  expectEqual,
  expectNumbers,
  jsonText,
  never,
} from "../engine/oracle.ts";
import type { Target } from "../engine/target.ts";
import { bytesTarget, textTarget, valueTarget } from "./kinds.ts";

const META = { name: "geo", namespace: "shop", uid: "u-1", resourceVersion: "5" };
const OBJECTS = {
  deployment: deployment("geo"),
  replicaSet: replicaSet("geo-5d4f8c7b9", "geo"),
  pod: podOf("geo", 1),
  hpa: {
    metadata: {
      ...META,
      ownerReferences: [{ kind: "ScaledObject", name: "geo", uid: "s", controller: true }],
    },
    spec: {
      scaleTargetRef: { kind: "Deployment", name: "geo" },
      minReplicas: 1,
      maxReplicas: 9,
      metrics: [{ resource: { name: "cpu", target: { type: "Utilization" } } }],
    },
  },
  scaledObject: {
    metadata: META,
    spec: {
      scaleTargetRef: { name: "geo" },
      minReplicaCount: 0,
      maxReplicaCount: 20,
      triggers: [{ type: "external", metricType: null, metadata: { service: "geo" } }],
    },
  },
  budget: {
    metadata: { ...META, generation: 2 },
    spec: { minAvailable: "50%", selector: { matchLabels: { app: "geo" } } },
    status: { disruptionsAllowed: 1, observedGeneration: 2 },
  },
  node: {
    metadata: { name: "node-1" },
    spec: { unschedulable: false },
    status: {
      allocatable: { cpu: "3920m", memory: "7876Mi", pods: "110" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  },
  quota: {
    metadata: META,
    spec: { scopes: [] },
    status: {
      hard: { "requests.cpu": "10", pods: "20", "limits.memory": "8Gi" },
      used: { "requests.cpu": "1500m" },
    },
  },
  vpa: {
    metadata: { ...META, generation: 2 },
    spec: {
      targetRef: { kind: "Deployment", name: "geo" },
      updatePolicy: { updateMode: "Auto" },
      resourcePolicy: {
        containerPolicies: [{ containerName: "*", minAllowed: { cpu: "50m" }, controlledResources: ["cpu"] }],
      },
      recommenders: [{ name: "tradewind" }],
    },
    status: {
      recommendation: {
        containerRecommendations: [
          { containerName: "main", target: { cpu: "250m", memory: "128Mi" }, lowerBound: { cpu: "100m" } },
        ],
      },
      conditions: [
        { type: "RecommendationProvided", status: "True", lastTransitionTime: "2026-01-02T03:04:05Z" },
      ],
    },
  },
};

/** Times may lie before 1970; all other numbers of an object are amounts. */
const TIMES = new Set([
  "createdAtMs",
  "readyAtMs",
  "startedAtMs",
  "sinceMs",
  "lastTransitionTime",
  "generation",
]);

/** An object of the API: read or left out, and its amounts are finite and not negative. */
function object(name: string, schema: z.ZodType, seed: unknown): Target {
  if (!schema.safeParse(seed).success) throw new TypeError(`the seed of ${name} is not read`);
  return valueTarget(`kubernetes/${name}`, [seed], (value) => {
    const parsed = attempt(() => schema.safeParse(value), never);
    if (parsed?.success === true) expectNumbers(parsed.data, 0, TIMES);
  });
}

const workloads = valueTarget("kubernetes/workloads", [OBJECTS], (value) => {
  const {
    deployment: d,
    hpa,
    node,
    pod,
    budget,
    quota,
    replicaSet: r,
    scaledObject,
  } = (value ?? {}) as Record<string, unknown>;
  const one = <Schema extends z.ZodType>(schema: Schema, each: unknown): z.output<Schema>[] => {
    const parsed = schema.safeParse(each);
    return parsed.success ? [parsed.data] : [];
  };
  const list = attempt(
    () =>
      workloadList(
        {
          scalables: one(scalable("Deployment"), d),
          replicaSets: one(Owned, r),
          pods: one(Pod, pod),
          horizontalPodAutoscalers: one(HorizontalPodAutoscaler, hpa),
          scaledObjects: one(ScaledObject, scaledObject),
          quotas: one(ResourceQuota, quota),
          budgets: one(PodDisruptionBudget, budget),
          nodes: one(Node, node),
        },
        () => undefined,
        1_000,
      ),
    never,
  );
  const services = list?.workloads.map(({ service }) => service) ?? [];
  expect(
    services.every((service) => service !== ""),
    "service",
    () => "a workload without a service",
  );
  expectNumbers(list, 0, TIMES);
});

const EVENTS = [
  { type: "ADDED", object: OBJECTS.pod },
  { type: "MODIFIED", object: OBJECTS.pod },
  { type: "DELETED", object: OBJECTS.pod },
  { type: "BOOKMARK", object: { metadata: { resourceVersion: "77" } } },
  { type: "ERROR", object: { code: 410, reason: "Expired", message: "too old" } },
];
const WATCH = EVENTS.map((event) => JSON.stringify(event)).join("\n");
const WATCH_BYTES = new ByteMutator(
  [WATCH, `${WATCH}\n`],
  ["\n", '"metadata"', '"type"', "null", "}", '"ERROR"'],
);
const MAX_LINE_BYTES = 4_096;

/** The bytes in pieces of this length. */
async function* inPieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function linesOf(bytes: Uint8Array, pieceLength: number): Promise<string[] | undefined> {
  const found: string[] = [];
  return attemptAsync(async () => {
    for await (const line of readLines(inPieces(bytes, pieceLength), MAX_LINE_BYTES)) found.push(line);
    return found;
  }, documented("too-large"));
}

/** Lines do not depend on how the network cuts the stream. */
const lines = bytesTarget("kubernetes/lines", WATCH_BYTES, async (bytes) => {
  const whole = Buffer.from(bytes)
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "");
  for (const length of [3, 512, 65_536]) {
    const found = await linesOf(bytes, length);
    if (found !== undefined) expectEqual(found, whole, "lines");
  }
});

/** Follows one list and one watch, whatever they bring; what is held then are pods. */
const reflector = bytesTarget("kubernetes/watch", WATCH_BYTES, async (bytes) => {
  const ended = Promise.withResolvers<void>();
  const client: Pick<ApiClient, "call" | "watch"> = {
    call: async () => ({ metadata: { resourceVersion: "1" }, items: [OBJECTS.pod] }),
    watch: (_place, _query, options) => {
      options.onOpen?.();
      return inPieces(bytes, 1_000);
    },
  };
  const reflected = new Reflector({
    client: client as ApiClient,
    resource: RESOURCES.pods,
    schema: Pod,
    log: silentLog,
    observer: { listed: () => undefined, itemSkipped: () => undefined, watchEnded: () => ended.resolve() },
  });
  reflected.start();
  await ended.promise;
  for (const { name, uid } of reflected.items.values())
    expect(name !== "" && uid !== "", "pod", () => "a pod without a name");
  await reflected.stop();
});

const quantity = textTarget(
  "kubernetes/quantity",
  ["250m", "1.5", "128Mi", "1e3", "+.5Gi", "12E"],
  (text) => {
    const value = attempt(
      () => parseQuantity(text),
      (error) => error instanceof RangeError,
    );
    if (value === undefined) return;
    expect(Number.isFinite(value), "number", () => `${JSON.stringify(text)} is ${value}`);
    const written = [formatCores(value), formatMemory(value)];
    if (value >= 0 && value < 1e15) {
      expect(
        written.every((each) => Number.isFinite(parseQuantity(each))),
        "round-trip",
        () => written.join(),
      );
    }
  },
  { words: ["m", "Mi", "k", "e", "E", ".", "+", "-", "Ki", "n"] },
);

const MANIFEST = [
  OBJECTS.deployment,
  { kind: "Service", ...OBJECTS.quota, spec: { selector: { app: "geo" } } },
]
  .map((each) => stringify(each))
  .join("---\n");
const manifests = textTarget(
  "kubernetes/manifests",
  [MANIFEST, "a: &a [x, *a]\nb: {<<: *a}\n"],
  async (text) => {
    await attemptAsync(
      async () => readManifests(["-"], "shop", async () => text),
      documented("invalid-manifest"),
    );
  },
  {
    words: [
      "---\n",
      "kind: List\n",
      "items:\n- ",
      "&a ",
      "*a",
      "<<: ",
      "!!binary ",
      "? ",
      "|\n",
      "%YAML 1.1\n",
    ],
    maxBytes: 16_384,
  },
);

const STATUS = {
  kind: "Status",
  message: "no",
  reason: "Forbidden",
  code: 403,
  details: { retryAfterSeconds: 3 },
};
const refusals = valueTarget("kubernetes/refusals", [STATUS], (value) => {
  const place = { resource: RESOURCES.pods, namespace: "shop" };
  const text = jsonText(value) ?? "";
  const error = attempt(() => refusal("get", place, { status: 403, text, retryAfterMs: undefined }), never);
  const inWatch = attempt(() => refusalInWatch(place, value), never);
  for (const each of [error, inWatch]) {
    expect(
      (each?.message.length ?? 0) < 2_000,
      "message",
      () => `a message of ${each?.message.length ?? 0} characters`,
    );
    expectNumbers([each?.retryAfterMs]);
  }
});

export const KUBERNETES_TARGETS: readonly Target[] = [
  lines,
  manifests,
  object("autoscaler", HorizontalPodAutoscaler, OBJECTS.hpa),
  object("deployment", scalable("Deployment"), OBJECTS.deployment),
  object("node", Node, OBJECTS.node),
  object("pod", Pod, OBJECTS.pod),
  object("quota", ResourceQuota, OBJECTS.quota),
  object("budget", PodDisruptionBudget, OBJECTS.budget),
  object("scaled-object", ScaledObject, OBJECTS.scaledObject),
  object("vertical-autoscaler", VerticalPodAutoscaler, OBJECTS.vpa),
  quantity,
  reflector,
  refusals,
  workloads,
];
