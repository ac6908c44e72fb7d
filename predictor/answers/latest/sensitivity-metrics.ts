import type { ServiceSensitivity } from "@tradewind/core/contract/sensitivities.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { LastSensitivities } from "./last-sensitivities.ts";

interface SensitivityGauge {
  /** After `tradewind_sensitivity_`. */
  readonly name: string;
  readonly help: string;
  readonly value: (service: ServiceSensitivity) => number;
}

const ROUTE = "Change of the predicted latency percentile of the slowest route through the service";
const END = { low: "Lower end of the 90 % interval", high: "Upper end of the 90 % interval" } as const;

const GAUGES: readonly SensitivityGauge[] = [
  {
    name: "seconds_per_core",
    help: `${ROUTE} for one more core of CPU limit, shared by its containers (slope); below 0: faster.`,
    value: ({ perCore }) => perCore.seconds,
  },
  {
    name: "seconds_per_core_low",
    help: `${END.low} of tradewind_sensitivity_seconds_per_core.`,
    value: ({ perCore }) => perCore.lowSeconds,
  },
  {
    name: "seconds_per_core_high",
    help: `${END.high} of tradewind_sensitivity_seconds_per_core.`,
    value: ({ perCore }) => perCore.highSeconds,
  },
  {
    name: "seconds_per_replica",
    help: `${ROUTE} for one more replica (exact difference); below 0: faster.`,
    value: ({ perReplica }) => perReplica.seconds,
  },
  {
    name: "seconds_per_replica_low",
    help: `${END.low} of tradewind_sensitivity_seconds_per_replica.`,
    value: ({ perReplica }) => perReplica.lowSeconds,
  },
  {
    name: "seconds_per_replica_high",
    help: `${END.high} of tradewind_sensitivity_seconds_per_replica.`,
    value: ({ perReplica }) => perReplica.highSeconds,
  },
  {
    name: "seconds_per_gibibyte",
    help: `${ROUTE} for one more gibibyte; 0, since the models know no effect of memory.`,
    value: ({ perGibibyte }) => perGibibyte.seconds,
  },
];

/** Series of the services that have a live model, as many as there are; a service without one has none. */
export function registerSensitivityMetrics(
  registry: Registry,
  { last, log }: { readonly last: LastSensitivities; readonly log: Logger },
): void {
  for (const { help, name, value } of GAUGES) {
    const gauge = new Gauge({
      name: `tradewind_sensitivity_${name}`,
      help,
      labelNames: ["namespace", "service"],
      registers: [registry],
      async collect() {
        this.reset();
        try {
          const { namespace = "", services = [] } = (await last.list()) ?? {};
          for (const each of services) this.set({ namespace, service: each.service }, value(each));
        } catch (error) {
          // One failure here would lose the whole scrape.
          log.error({ problem: describeError(error) }, "no sensitivities for this scrape");
        }
      },
    });
    gauge.reset();
  }
}
