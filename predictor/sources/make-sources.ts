import type { Application } from "@tradewind/core/contract/application.ts";
import type { ClientSettings } from "@tradewind/core/net/endpoint/client.ts";
import { PrometheusSource } from "./prometheus/prometheus-source.ts";
import type { SpanSource } from "./source.ts";
import type { AskedSources } from "./sources-config.ts";
import { makeTraceSources } from "./trace-sources.ts";

/** The configured sources that are asked (traces pushed to us need none). */
export interface MadeSources {
  readonly prometheus: readonly PrometheusSource[];
  readonly spans: readonly SpanSource[];
}

/** @param current the present application, where its entries may change */
export function makeSources(
  config: AskedSources,
  application: Pick<Application, "namespace" | "entries"> | undefined,
  current: () => Pick<Application, "entries"> | undefined = () => application,
  settings: ClientSettings = {},
): MadeSources {
  const entries = (): readonly string[] => (current() ?? application)?.entries ?? [];
  const context = { namespace: application?.namespace ?? "default", entries };
  return {
    prometheus: config.prometheus.map((options) => new PrometheusSource(options, context, settings)),
    spans: makeTraceSources(config, entries, settings),
  };
}
