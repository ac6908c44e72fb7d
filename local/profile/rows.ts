import { SWEEP_SCHEMA } from "@tradewind/core/contract/sweep.ts";
import type { SweepRow } from "@tradewind/core/contract/sweep.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
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

/** Rows of the windows that lie within the time of a configuration; windows of other services are left out. */
export function rowsOf(
  { configuration, fromMs, settledMs, toMs }: Measured,
  sets: readonly WindowSet[],
  entry: string,
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
            window,
            ...(window.service === entry && { flows }),
          },
        ];
      }),
    );
}
