import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VerticalPodAutoscaler } from "@tradewind/kubernetes/objects/vpa.ts";
import { advise } from "@tradewind/exporter/controller/vpa/recommend.ts";
import type { VpaInputs } from "@tradewind/exporter/controller/vpa/recommend.ts";
import { statusDiffers, vpaStatus } from "@tradewind/exporter/controller/vpa/status.ts";
import type { VpaStatus } from "@tradewind/exporter/controller/vpa/status.ts";
import { capped, steer } from "@tradewind/exporter/controller/vpa/steer.ts";
import { cartPod, MEBI } from "../sizing/pods.ts";

const NOW_MS = Date.parse("2026-01-02T03:04:05.678Z");
const SIZES = { requests: { cpu: "500m", memory: "256Mi" } };

function vpaOf(spec: object = {}, status?: VpaStatus): VerticalPodAutoscaler {
  return VerticalPodAutoscaler.parse({
    metadata: { name: "cart", namespace: "shop", uid: "vpa-cart", generation: 3 },
    spec: {
      targetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "cart" },
      recommenders: [{ name: "tradewind" }],
      ...spec,
    },
    ...(status !== undefined && { status }),
  });
}

const inputs = (changes: Partial<VpaInputs> = {}): VpaInputs => ({
  vpa: vpaOf(),
  workload: "cart",
  pods: [cartPod(0, SIZES), cartPod(1, SIZES)],
  settled: { cpuCores: 1, memoryBytes: 512 * MEBI },
  decided: { cpuCores: 1, memoryBytes: 512 * MEBI },
  scalePoints: [],
  advised: [],
  act: true,
  ...changes,
});

const written = (changes: Partial<VpaInputs> = {}, doubt?: string): VpaStatus => {
  const given = inputs(changes);
  return vpaStatus(given.vpa, advise(given), doubt, NOW_MS);
};
const container = (changes: Partial<VpaInputs> = {}) =>
  written(changes).recommendation?.containerRecommendations[0];
const provided = (status: VpaStatus) =>
  status.conditions.find(({ type }) => type === "RecommendationProvided");

describe("advice in a VPA of an application whose large changes wait for a person", () => {
  const large = { settled: { cpuCores: 1, memoryBytes: 300 * MEBI }, advised: ["cpu", "memory"] } as const;

  it("leaves out what differs too much from what runs, and gives the rest to new pods", () => {
    expect(container({ ...large, approvalRatio: 0.5 })?.target).toEqual({ memory: "300Mi" });
    expect(container(large)?.target).toEqual({ cpu: "1", memory: "300Mi" });
  });

  it("is whole where a person applies it", () => {
    const vpa = vpaOf({ updatePolicy: { updateMode: "Off" } });
    expect(container({ ...large, vpa, approvalRatio: 0.5 })?.target).toEqual({ cpu: "1", memory: "300Mi" });
  });

  it("is withheld with a reason where nothing of it is left, and what was decided is not", () => {
    const settled = { cpuCores: 1 };
    const all = { settled, decided: settled, approvalRatio: 0.5 };
    expect(provided(written({ ...all, advised: ["cpu"] }))).toMatchObject({ reason: "ApprovalNeeded" });
    expect(container({ ...all, advised: [] })?.target).toEqual({ cpu: "1" });
  });
});

describe("the recommendation of a VPA", () => {
  it("names target, narrow bounds and the uncapped wish, so that the updater acts on pods that differ", () => {
    expect(written()).toEqual({
      recommendation: {
        containerRecommendations: [
          {
            containerName: "main",
            target: { cpu: "1", memory: "512Mi" },
            lowerBound: { cpu: "950m", memory: "486Mi" },
            upperBound: { cpu: "1050m", memory: "538Mi" },
            uncappedTarget: { cpu: "1", memory: "512Mi" },
          },
        ],
      },
      conditions: [
        {
          type: "RecommendationProvided",
          status: "True",
          reason: "Recommended",
          message: "",
          lastTransitionTime: "2026-01-02T03:04:05Z",
        },
      ],
    });
  });

  it("leaves running pods inside wide bounds when they shall not be touched", () => {
    expect(container({ act: false })).toMatchObject({
      target: { cpu: "1" },
      lowerBound: { cpu: "450m" },
      upperBound: { cpu: "1100m" },
    });
  });

  it("leaves running pods inside wide bounds for what is only advised", () => {
    expect(container({ advised: ["cpu"] })).toMatchObject({
      target: { cpu: "1", memory: "512Mi" },
      lowerBound: { cpu: "450m", memory: "486Mi" },
      upperBound: { cpu: "1100m", memory: "538Mi" },
    });
  });

  it("is a request with which VPA makes the CPU limit the size, where limits follow requests", () => {
    const pods = [
      cartPod(0, { requests: { cpu: "100m", memory: "256Mi" }, limits: { cpu: "500m", memory: "1Gi" } }),
    ];
    expect(container({ pods })?.target).toEqual({ cpu: "200m", memory: "512Mi" });
  });

  it("stays at its target while the wish moves little, and moves when it moves much", () => {
    const vpa = vpaOf({}, written());
    const cpu = (cpuCores: number) => container({ vpa, settled: { cpuCores } })?.target["cpu"];
    expect([cpu(1.05), cpu(0.91), cpu(1.2), cpu(0.8)]).toEqual(["1", "1", "1200m", "800m"]);
  });

  it("obeys minAllowed, maxAllowed, controlledResources and mode Off, of the container or of all", () => {
    const policy = (policies: object[]) => ({
      vpa: vpaOf({ resourcePolicy: { containerPolicies: policies } }),
    });
    const limited = container(
      policy([{ containerName: "*", maxAllowed: { cpu: "750m" }, minAllowed: { memory: "1Gi" } }]),
    );
    expect(limited).toMatchObject({
      target: { cpu: "750m", memory: "1Gi" },
      upperBound: { cpu: "750m", memory: "1Gi" },
      uncappedTarget: { cpu: "1", memory: "512Mi" },
    });
    const only = container(
      policy([{ containerName: "main", controlledResources: ["memory"] }, { containerName: "*" }]),
    );
    expect(only?.target).toEqual({ memory: "512Mi" });
    const off = written(policy([{ containerName: "main", mode: "Off" }]));
    expect(off.recommendation).toBeUndefined();
    expect(provided(off)).toMatchObject({ status: "False", reason: "ContainerOff" });
  });

  it("keeps the scale point of an HPA that scales on use relative to the request", () => {
    expect(container({ scalePoints: ["cpu"] })?.target).toEqual({ memory: "512Mi" });
    const kept = written({ scalePoints: ["cpu"], settled: { cpuCores: 1 } });
    expect(provided(kept)).toMatchObject({ status: "False", reason: "ScalePointKept" });
  });

  it("keeps the QoS class, except where nothing is ever applied", () => {
    const bestEffort = { pods: [cartPod(0, { qosClass: "BestEffort" })] };
    expect(provided(written(bestEffort))).toMatchObject({ status: "False", reason: "ClassKept" });
    const off = vpaOf({ updatePolicy: { updateMode: "Off" } });
    expect(container({ ...bestEffort, vpa: off })?.target).toEqual({ cpu: "1", memory: "512Mi" });
    const requestsOnly = vpaOf({
      resourcePolicy: { containerPolicies: [{ containerName: "*", controlledValues: "RequestsOnly" }] },
    });
    const guaranteed = { vpa: requestsOnly, pods: [cartPod(0, { qosClass: "Guaranteed" })] };
    expect(provided(written(guaranteed))).toMatchObject({ reason: "ClassKept" });
    const underLimit = { vpa: requestsOnly, pods: [cartPod(0, { ...SIZES, limits: { cpu: "800m" } })] };
    expect(container(underLimit)?.target["cpu"]).toBe("792m");
  });

  it("stays as it is while there is nothing new to say, and says why", () => {
    const vpa = vpaOf({}, written());
    const silent = written({ vpa, settled: {} }, "the last decision is 400 s old");
    expect(silent.recommendation).toEqual(written().recommendation);
    expect(silent.conditions).toMatchObject([
      { type: "RecommendationProvided", status: "True", reason: "NoSize" },
      { type: "LowConfidence", status: "True", message: "the last decision is 400 s old" },
    ]);
    const empty = written({ pods: [] });
    expect(empty.conditions).toMatchObject([
      { status: "False", reason: "NoPodsMatched" },
      { type: "NoPodsMatched" },
    ]);
  });

  it("is written only when it says something else, and keeps the time since when a condition holds", () => {
    const first = written();
    const vpa = vpaOf({}, first);
    const again = written({ vpa });
    expect(statusDiffers(vpa, again)).toBe(false);
    const later = vpaStatus(vpa, advise(inputs({ vpa })), undefined, NOW_MS + 3_600_000);
    expect(later.conditions).toEqual(first.conditions);
    expect(statusDiffers(vpa, written({ vpa, settled: { cpuCores: 3, memoryBytes: 512 * MEBI } }))).toBe(
      true,
    );
    expect(statusDiffers(vpaOf(), first)).toBe(true);
    expect(statusDiffers(vpa, written({ vpa }, "doubt"))).toBe(true);
  });
});

describe("steering", () => {
  const positive = fc.double({ min: 0.01, max: 64, noNaN: true });

  it("moved on purpose always leaves what requests the old target outside of its bounds", () => {
    fc.assert(
      fc.property(positive, positive, (previous, wished) => {
        const { lowerBound, target, upperBound } = steer(wished, previous, [previous], true);
        expect(lowerBound).toBeLessThanOrEqual(target);
        expect(upperBound).toBeGreaterThanOrEqual(target);
        const isOutside = previous < lowerBound || previous > upperBound;
        expect(isOutside).toBe(target !== previous);
      }),
    );
  });

  it("without purpose always holds everything that runs", () => {
    fc.assert(
      fc.property(positive, fc.array(positive), (wished, running) => {
        const { lowerBound, target, upperBound } = steer(wished, undefined, running, false);
        for (const value of [target, ...running]) {
          expect(value).toBeGreaterThanOrEqual(lowerBound);
          expect(value).toBeLessThanOrEqual(upperBound);
        }
      }),
    );
  });

  it("capped stays in order inside of what is allowed", () => {
    fc.assert(
      fc.property(positive, positive, positive, (wished, a, b) => {
        const allowed = [{ cpuCores: Math.min(a, b) }, { cpuCores: Math.max(a, b) }] as const;
        const { lowerBound, target, upperBound } = capped(
          steer(wished, undefined, [], true),
          "cpuCores",
          ...allowed,
        );
        expect(lowerBound).toBeLessThanOrEqual(target);
        expect(target).toBeLessThanOrEqual(upperBound);
        expect(upperBound).toBeLessThanOrEqual(allowed[1].cpuCores);
        expect(lowerBound).toBeGreaterThanOrEqual(allowed[0].cpuCores);
      }),
    );
  });
});
