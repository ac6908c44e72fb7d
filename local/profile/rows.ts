import { SWEEP_SCHEMA } from "@tradewind/core/contract/sweep.ts";
import type { SweepRow } from "@tradewind/core/contract/sweep.ts";
import type { ContainerWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { interferenceName } from "./design.ts";
import type { Configuration } from "./design.ts";

/** When a configuration ran, ms since the Unix epoch. */
export interface Measured {
  readonly configuration: Configuration;
  readonly fromMs: number;
  /** From here on queues and caches had settled. */
  readonly settledMs: number;
  readonly toMs: number;
}

type CpuUse = (containerId: string, startMs: number, endMs: number) => number | undefined;

/**
 * The window with what the platform knows better than the agent, which reads limits every 5 to 30 s and calm containers
 * more seldom still: limits are those declared, use is what replicas reported, and throttling, which nobody else knows,
 * is left out.
 */
function withOwnFacts(window: Window, cpuUse: CpuUse): Window {
  const containers = window.containers.map((container): ContainerWindow => {
    const { cpuUsageCores: _use, cpuThrottledRatio: _throttled, ...rest } = container;
    const { cpuRequestCores, memoryRequestBytes } = container;
    const cpuUsageCores = cpuUse(container.id, window.startMs, window.endMs);
    return {
      ...rest,
      ...(cpuRequestCores !== undefined && { cpuLimitCores: cpuRequestCores }),
      ...(memoryRequestBytes !== undefined && { memoryLimitBytes: memoryRequestBytes }),
      ...(cpuUsageCores !== undefined && { cpuUsageCores }),
    };
  });
  return { ...window, containers };
}

/** Rows of the windows that lie within the time of a configuration; windows of other services are left out. */
export function rowsOf(
  { configuration, fromMs, settledMs, toMs }: Measured,
  sets: readonly WindowSet[],
  entry: string,
  cpuUse: CpuUse,
): readonly SweepRow[] {
  const { id, requestsPerSecond, services } = configuration;
  const interference = interferenceName(configuration);
  return sets
    .filter(({ startMs, endMs }) => startMs >= fromMs && endMs <= toMs)
    .flatMap(({ windows, flows, startMs }) =>
      windows.flatMap((window): SweepRow[] => {
        const setting = services.find(({ service }) => service === window.service);
        if (setting === undefined) return [];
        const { replicas, size } = setting;
        return [
          {
            schema: SWEEP_SCHEMA,
            configuration: { id, replicas, ...size, requestsPerSecond, interference },
            // A replica that died meanwhile is not the configuration that was set.
            settled: startMs >= settledMs && window.replicasReady === replicas,
            window: withOwnFacts(window, cpuUse),
            ...(window.service === entry && { flows }),
          },
        ];
      }),
    );
}
