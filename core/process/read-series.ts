import type { Counter, Gauge, Registry } from "prom-client";

/** The metric types of prom-client, given by those who load it: the agent lives without. */
export interface Prometheus {
  readonly Counter: typeof Counter;
  readonly Gauge: typeof Gauge;
}

type Labelled = Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>;

/** A metric whose values are in memory already, and read at each scrape. */
export interface ReadMetric {
  readonly kind: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  /** The value, or one for each series; what is not there has no series then. Must not throw: the whole scrape would be lost. */
  readonly read: () => Labelled | number | undefined;
}

export function registerReadMetrics(
  registry: Registry,
  { Counter, Gauge }: Prometheus,
  metrics: readonly ReadMetric[],
): void {
  for (const { help, kind, labelNames = [], name, read } of metrics) {
    const config = { name, help, labelNames, registers: [] };
    registry.registerMetric(
      kind === "counter"
        ? new Counter({
            ...config,
            collect() {
              this.reset();
              for (const [labels, value] of seriesOf(read())) this.inc(labels, value);
            },
          })
        : new Gauge({
            ...config,
            collect() {
              this.reset();
              const values = read();
              if (values === undefined && labelNames.length === 0) this.remove();
              for (const [labels, value] of seriesOf(values)) this.set(labels, value);
            },
          }),
    );
  }
}

const seriesOf = (values: Labelled | number | undefined): Labelled =>
  typeof values === "number" ? [[{}, values]] : (values ?? []);
