import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { ServiceState } from "../application/fleet.ts";
import type { CpuMeter } from "./cpu-meter.ts";
import type { MetricSource } from "./metric-source.ts";
import { KUBERNETES_READINESS } from "@tradewind/core/hpa/resource-metric.ts";
import type { MeasuredPod } from "@tradewind/core/hpa/resource-metric.ts";
import { DEMO_TIMINGS } from "./scaled-object.ts";
import type { ScalingRule } from "./scaled-object.ts";

/** Kubernetes' own, for samples as short as the demonstration's. */
const RULES = { ...KUBERNETES_READINESS, sampleSeconds: DEMO_TIMINGS.syncPeriodSeconds };

/** What {@link measuredPods} needs of a service. */
type MeasuredService = Pick<ServiceState, "replicasWanted" | "size"> & {
  readonly ready: readonly Pick<
    ServiceState["ready"][number],
    "identity" | "startedAtMs" | "readyAtMs" | "usage"
  >[];
};

/** The replicas of a service as an autoscaler's metrics server shows pods; each requests what it is limited to. */
export function measuredPods(
  { ready, replicasWanted, size }: MeasuredService,
  meter: Pick<CpuMeter, "usageCores">,
): MeasuredPod[] {
  const requested = size.cpuCores;
  const pods = ready.map(({ identity, readyAtMs, startedAtMs, usage }): MeasuredPod => {
    const used = meter.usageCores(identity.containerId);
    return {
      isScheduled: true,
      isDeleting: false,
      isReady: true,
      startedAtMs,
      readinessChangedAtMs: readyAtMs,
      requested,
      ...(used !== undefined && { used, sampledAtMs: usage().atMs }),
    };
  });
  const pending: MeasuredPod = {
    isScheduled: false,
    isDeleting: false,
    isReady: false,
    startedAtMs: 0,
    readinessChangedAtMs: 0,
    requested,
  };
  return [...pods, ...Array.from({ length: Math.max(0, replicasWanted - ready.length) }, () => pending)];
}

/**
 * What a HorizontalPodAutoscaler on CPU reads.
 * @param cpuRatio target of use over request, above 0 to 1
 */
export function cpuSource(
  states: () => readonly ServiceState[],
  meter: CpuMeter,
  cpuRatio: number,
  nowMs: () => number,
): MetricSource<ScalingRule> {
  return {
    async read({ service }) {
      const state = states().find(({ definition }) => definition.name === service);
      const pods = state === undefined ? [] : measuredPods(state, meter);
      if (pods.every(({ used }) => used === undefined)) throw missing(`CPU use of ${service}`);
      const metric = { pods, targetPercent: 100 * cpuRatio, rules: RULES, readAtMs: nowMs() };
      return Promise.resolve({ metrics: [{ name: "cpu", ...metric }], active: true });
    },
    close: () => undefined,
  };
}

/** What a ScaledObject with a Prometheus trigger on requests per second reads. */
export function requestRateSource(
  windows: () => WindowSet | undefined,
  requestsPerSecond: number,
): MetricSource<ScalingRule> {
  return {
    async read({ service }) {
      const usage = windows()?.windows.find((each) => each.service === service)?.requestsPerSecond;
      if (usage === undefined) throw missing(`request rate of ${service}`);
      const metric = { usage, targetAverageValue: requestsPerSecond };
      return Promise.resolve({ metrics: [{ name: "requests-per-second", ...metric }], active: true });
    },
    close: () => undefined,
  };
}

const missing = (what: string): TradewindError =>
  new TradewindError("metric-missing", `no ${what} has been measured yet`);
