import { formatCores, formatMemory, utcSeconds } from "@tradewind/core/values/amounts.ts";
import { parseQuantity } from "@tradewind/kubernetes/objects/quantity.ts";
import type { VerticalPodAutoscaler, VpaCondition } from "@tradewind/kubernetes/objects/vpa.ts";
import { SIZED } from "../sizing/size-history.ts";
import type { SizedResource } from "../sizing/size-history.ts";
import type { ContainerAdvice, VpaAdvice } from "./recommend.ts";
import type { Steering } from "./steer.ts";

type Quantities = Record<string, string>;

/** A VPA's `status`, as it is written. */
export interface VpaStatus {
  readonly recommendation?: {
    readonly containerRecommendations: readonly {
      readonly containerName: string;
      readonly target: Quantities;
      readonly lowerBound: Quantities;
      readonly upperBound: Quantities;
      readonly uncappedTarget: Quantities;
    }[];
  };
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
    readonly lastTransitionTime: string;
  }[];
}

const KEYS: Readonly<Record<SizedResource, string>> = { cpuCores: "cpu", memoryBytes: "memory" };
/** Lower bounds are rounded down and the rest up, so that rounding never puts the target outside of its bounds. */
const FLOORS: Readonly<Record<SizedResource, (value: number) => string>> = {
  cpuCores: (cores) => `${Math.max(0, Math.floor(cores * 1_000 + 1e-6))}m`,
  memoryBytes: (bytes) => `${Math.max(0, Math.floor(bytes / 2 ** 20 + 1e-6))}Mi`,
};
const CEILINGS: Readonly<Record<SizedResource, (value: number) => string>> = {
  cpuCores: formatCores,
  memoryBytes: formatMemory,
};

/**
 * The status to write. Without advice the recommendation that is there stays as it is: new pods go on getting it, and what
 * is known is not forgotten because somebody is silent for a while.
 * @param doubt why the decision is not fresh; the condition LowConfidence says so
 */
export function vpaStatus(
  vpa: VerticalPodAutoscaler,
  advice: VpaAdvice,
  doubt: string | undefined,
  nowMs: number,
): VpaStatus {
  const recommendation = advice.container === undefined ? storedRecommendation(vpa) : fresh(advice.container);
  const has = recommendation !== undefined;
  const wanted = [
    {
      type: "RecommendationProvided",
      status: has ? "True" : "False",
      reason: advice.withheld?.reason ?? "Recommended",
      message: advice.withheld?.message ?? "",
    },
    ...(doubt === undefined
      ? []
      : [{ type: "LowConfidence", status: "True", reason: "DecisionInDoubt", message: doubt }]),
    ...(advice.withheld?.reason === "NoPodsMatched"
      ? [{ type: "NoPodsMatched", status: "True", reason: "NoPodsMatched", message: advice.withheld.message }]
      : []),
  ];
  return {
    ...(has && { recommendation }),
    conditions: wanted.map((condition) => withTransition(condition, vpa.conditions, nowMs)),
  };
}

function fresh({ containerName, resources }: ContainerAdvice): NonNullable<VpaStatus["recommendation"]> {
  const quantities = (
    of: (steering: Steering & { readonly uncapped: number }) => number,
    format: Readonly<Record<SizedResource, (value: number) => string>>,
  ): Quantities => {
    const list: Quantities = {};
    for (const resource of SIZED) {
      const steering = resources[resource];
      if (steering !== undefined) list[KEYS[resource]] = format[resource](of(steering));
    }
    return list;
  };
  return {
    containerRecommendations: [
      {
        containerName,
        target: quantities(({ target }) => target, CEILINGS),
        lowerBound: quantities(({ lowerBound }) => lowerBound, FLOORS),
        upperBound: quantities(({ upperBound }) => upperBound, CEILINGS),
        uncappedTarget: quantities(({ uncapped }) => uncapped, CEILINGS),
      },
    ],
  };
}

function storedRecommendation({ recommendations }: VerticalPodAutoscaler): VpaStatus["recommendation"] {
  if (recommendations.length === 0) return undefined;
  const quantities = (list: Readonly<Record<string, number>> | undefined): Quantities => {
    const written: Quantities = {};
    for (const resource of SIZED) {
      const value = list?.[KEYS[resource]];
      if (value !== undefined) written[KEYS[resource]] = CEILINGS[resource](value);
    }
    return written;
  };
  return {
    containerRecommendations: recommendations.map((stored) => ({
      containerName: stored.containerName,
      target: quantities(stored.target),
      lowerBound: quantities(stored.lowerBound),
      upperBound: quantities(stored.upperBound),
      uncappedTarget: quantities(stored.uncappedTarget),
    })),
  };
}

function withTransition(
  wanted: Omit<VpaStatus["conditions"][number], "lastTransitionTime">,
  before: readonly VpaCondition[],
  nowMs: number,
): VpaStatus["conditions"][number] {
  const known = before.find(({ type }) => type === wanted.type);
  const sinceMs = known?.status === wanted.status ? (known.lastTransitionTime ?? nowMs) : nowMs;
  // Kubernetes' times have whole seconds.
  const lastTransitionTime = utcSeconds(sinceMs);
  return { ...wanted, lastTransitionTime };
}

/** Whether the stored status says something else than this one; only then is it written. */
export function statusDiffers(vpa: VerticalPodAutoscaler, wanted: VpaStatus): boolean {
  const written = (wanted.recommendation?.containerRecommendations ?? []).map((each) => [
    each.containerName,
    [each.target, each.lowerBound, each.upperBound, each.uncappedTarget].map((list) => amounts(list)),
  ]);
  const stored = vpa.recommendations.map((each) => [
    each.containerName,
    [each.target, each.lowerBound, each.upperBound, each.uncappedTarget].map((list) => sorted(list ?? {})),
  ]);
  if (JSON.stringify(written) !== JSON.stringify(stored)) return true;
  const conditions = (all: readonly (VpaCondition | VpaStatus["conditions"][number])[]): string =>
    JSON.stringify(
      all.map(({ message, reason, status, type }) => [type, status, reason ?? "", message ?? ""]),
    );
  return conditions(wanted.conditions) !== conditions(vpa.conditions);
}

const amounts = (list: Quantities): [string, number][] =>
  sorted(Object.fromEntries(Object.entries(list).map(([name, text]) => [name, parseQuantity(text)])));

const sorted = (list: Readonly<Record<string, number>>): [string, number][] =>
  Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1));
