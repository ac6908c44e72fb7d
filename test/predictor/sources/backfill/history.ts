export interface ImportedHistory {
  readonly services: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly scrapeMs: number;
}

const BOUNDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** Span metrics of services that each serve 2 requests/s of 30 ms, imported into VictoriaMetrics. */
export async function importHistory(
  url: string,
  { services, fromMs, toMs, scrapeMs }: ImportedHistory,
): Promise<void> {
  const timestamps = Array.from(
    { length: Math.floor((toMs - fromMs) / scrapeMs) + 1 },
    (_, index) => fromMs + index * scrapeMs,
  );
  const grows = (perSecond: number): number[] =>
    timestamps.map((timeMs) => (perSecond * (timeMs - fromMs)) / 1_000);
  const base = "traces_span_metrics_duration_seconds";
  for (let index = 0; index < services; index += 1) {
    const labels = {
      service_name: `service-${index}`,
      span_kind: "SPAN_KIND_SERVER",
      status_code: "STATUS_CODE_UNSET",
    };
    const series: [Record<string, string>, number][] = [
      [{ __name__: "traces_span_metrics_calls_total" }, 2],
      [{ __name__: `${base}_sum` }, 0.06],
      [{ __name__: `${base}_count` }, 2],
      ...[...BOUNDS, Number.POSITIVE_INFINITY].map((bound): [Record<string, string>, number] => [
        { __name__: `${base}_bucket`, le: bound === Number.POSITIVE_INFINITY ? "+Inf" : String(bound) },
        bound >= 0.03 ? 2 : 0,
      ]),
    ];
    const lines = series.map(([more, perSecond]) =>
      JSON.stringify({ metric: { ...labels, ...more }, values: grows(perSecond), timestamps }),
    );
    const response = await fetch(`${url}/api/v1/import`, { method: "POST", body: lines.join("\n") });
    if (!response.ok) throw new Error(`import answered ${response.status}: ${await response.text()}`);
  }
}
