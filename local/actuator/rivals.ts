import { TradewindError } from "@tradewind/core/errors.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { ServiceState } from "../application/fleet.ts";
import type { CpuMeter } from "./cpu-meter.ts";
import { cpuMetric } from "./cpu-metric.ts";
import type { MetricReading, MetricSource } from "./metric-source.ts";
import type { ScalingRule } from "./scaled-object.ts";

/** What a HorizontalPodAutoscaler on CPU reads; a replica requests what it is limited to. */
export function cpuSource(
  states: () => readonly ServiceState[],
  meter: CpuMeter,
  cpuRatio: number,
): MetricSource<ScalingRule> {
  return {
    async read({ service }) {
      const state = states().find(({ definition }) => definition.name === service);
      const usage = (state?.ready ?? []).map(({ identity }) => meter.usageCores(identity.containerId));
      const metric = state && cpuMetric(usage, state.size.cpuCores, cpuRatio);
      if (metric === undefined) throw missing(`CPU use of ${service}`);
      return Promise.resolve(readingOf("cpu", metric));
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
      return Promise.resolve(
        readingOf("requests-per-second", { usage, targetAverageValue: requestsPerSecond }),
      );
    },
    close: () => undefined,
  };
}

const missing = (what: string): TradewindError =>
  new TradewindError("metric-missing", `no ${what} has been measured yet`);

const readingOf = (
  name: string,
  metric: { readonly usage: number; readonly targetAverageValue: number },
): MetricReading => ({ metrics: [{ name, ...metric }], active: true });
