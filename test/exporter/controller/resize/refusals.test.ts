import type { RecommendationList, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import type { Scene } from "@tradewind/exporter/controller/scene/part.ts";
import { ResizePart } from "@tradewind/exporter/controller/resize/resize-part.ts";
import type { ResizePartOptions, ResizeResult } from "@tradewind/exporter/controller/resize/resize-part.ts";
import { SettledSizes } from "@tradewind/exporter/controller/sizing/settled-sizes.ts";
import { ApiError } from "@tradewind/kubernetes/client/api-error.ts";
import { Pod } from "@tradewind/kubernetes/objects/pod.ts";
import { describe, expect, it } from "vitest";
import { silentLog } from "../../../kubernetes/silent-log.ts";
import { MEBI } from "../sizing/pods.ts";

const FROM_MS = Date.parse("2026-01-01T01:00:00Z");
const INFEASIBLE = {
  type: "PodResizePending",
  status: "True",
  reason: "Infeasible",
  message: "no room",
  lastTransitionTime: "2026-01-01T00:50:00Z",
};

interface Facts {
  readonly requests: Record<string, string>;
  readonly limits?: Record<string, string>;
  /** What the kubelet holds of a size that it cannot give. */
  readonly held?: { readonly requests: Record<string, string>; readonly limits?: Record<string, string> };
}

const podOf = (name: string, { held, limits = {}, requests }: Facts): Pod =>
  Pod.parse({
    metadata: { name, namespace: "shop", uid: name, resourceVersion: "1" },
    spec: { containers: [{ name: "main", resources: { requests, limits } }] },
    status: {
      phase: "Running",
      qosClass: "Burstable",
      conditions: [{ type: "Ready", status: "True" }, ...(held === undefined ? [] : [INFEASIBLE])],
      containerStatuses: [
        {
          name: "main",
          ...(held && { allocatedResources: held.requests, resources: { limits: held.limits ?? {} } }),
        },
      ],
    },
  });

interface Asked {
  readonly pod: string;
  readonly resources: {
    readonly requests?: Record<string, string>;
    readonly limits?: Record<string, string>;
  };
}

/** What is asked of the API server in eight rounds, a quarter of a minute apart, and what became of it. */
async function eightRounds(
  pods: () => readonly Pod[],
  size: Partial<ServedRecommendation>,
  answer: (asked: Asked) => void,
): Promise<{ asked: Asked[]; results: ResizeResult[] }> {
  const asked: Asked[] = [];
  const results: ResizeResult[] = [];
  const sizes = new SettledSizes();
  const client = {
    patch: ({ name: pod }: { name: string }, _type: string, body: { spec: { containers: Asked[] } }) => {
      const one = { pod, resources: body.spec.containers[0]!.resources };
      asked.push(one);
      answer(one);
      return Promise.resolve();
    },
  } as unknown as ResizePartOptions["client"];
  const part = new ResizePart({
    client,
    sizes,
    recorder: undefined,
    log: silentLog,
    onResult: (result) => results.push(result),
  });
  const served = {
    namespace: "shop",
    service: "a",
    application: "h",
    valid: true,
    confidence: 1,
    guard: [],
    ...size,
  };
  const list = { recommendations: [served] } as unknown as RecommendationList;
  const workload = { kind: "Deployment", name: "a", namespace: "shop", uid: "w", annotations: {} };
  for (let at = 0; at < 8; at += 1) {
    const monotonicMs = 15_000 * at;
    sizes.record(list, monotonicMs);
    const scene = {
      list,
      applications: [{ place: { namespace: "shop", name: "h" }, header: { mode: "act" }, list }],
      nowMs: FROM_MS + monotonicMs,
      monotonicMs,
      view: () => ({ workloads: { isFresh: () => true }, vpas: { ageMs: () => 0, items: new Map() } }),
      service: () => ({ service: "a", workload, pods: pods(), scalePoints: [] }),
      served: () => served,
      isPaused: () => false,
    } as unknown as Scene;
    await part.reconcile(scene, AbortSignal.timeout(20_000));
  }
  return { asked, results };
}

describe("a size that the API server refuses", () => {
  const failing = (status: number, message: string) => (): never => {
    throw new ApiError(message, { status, reason: status === 403 ? "Forbidden" : "Invalid" });
  };

  it("for a quota is asked for once an hour, and does not keep others from taking theirs back (quota-403)", async () => {
    const pods = [
      podOf("p0", { requests: { cpu: "500m" } }),
      podOf("p1", { requests: { cpu: "1" }, held: { requests: { cpu: "500m" } } }),
    ];
    const { asked, results } = await eightRounds(
      () => pods,
      { cpuCores: 1 },
      ({ pod }) => {
        if (pod === "p0") failing(403, "exceeded quota: team")();
      },
    );
    expect(asked.map(({ pod }) => pod).sort()).toEqual(["p0", "p1"]);
    expect([...results].sort()).toEqual(["refused", "taken-back"]);
  });

  it("where a right is missing stops new sizes of the round, and still takes back (right-missing)", async () => {
    const pods = [
      podOf("p0", { requests: { cpu: "500m" } }),
      podOf("p1", { requests: { cpu: "1" }, held: { requests: { cpu: "500m" } } }),
    ];
    const { asked } = await eightRounds(
      () => pods,
      { cpuCores: 1 },
      ({ pod }) => {
        if (pod === "p0") failing(403, 'user "a" cannot patch resource "pods/resize"')();
      },
    );
    expect(asked.filter(({ pod }) => pod === "p1")).toHaveLength(1);
  });

  it("in taking back a memory limit is taken back without it, once, and is not said to be kept (memory-limit-1.33)", async () => {
    const held = { requests: { cpu: "500m", memory: "400Mi" }, limits: { memory: "512Mi" } };
    const pod = podOf("p0", { requests: { cpu: "1", memory: "900Mi" }, limits: { memory: "1Gi" }, held });
    const { asked, results } = await eightRounds(
      () => [pod],
      { cpuCores: 1, memoryBytes: 1024 * MEBI },
      ({ resources }) => {
        if (resources.limits?.["memory"] !== undefined) failing(422, "memory limits cannot be decreased")();
      },
    );
    expect(asked.map(({ resources }) => resources)).toEqual([
      { requests: { cpu: "500m", memory: "400Mi" }, limits: { memory: "512Mi" } },
      { requests: { cpu: "500m", memory: "400Mi" } },
    ]);
    expect(results).toEqual(["taken-back"]);
  });

  it("is taken back to the byte, and not again and again (taken-back-rounded)", async () => {
    let memory = "900Mi";
    const { asked } = await eightRounds(
      () => [podOf("p0", { requests: { memory }, held: { requests: { memory: "200M" } } })],
      { memoryBytes: 900 * MEBI },
      ({ resources }) => {
        memory = resources.requests!["memory"]!;
      },
    );
    expect(asked.map(({ resources }) => resources)).toEqual([{ requests: { memory: "200000000" } }]);
  });
});
