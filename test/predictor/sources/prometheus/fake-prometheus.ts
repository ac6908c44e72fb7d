import { FakeServer, json } from "../../../core/net/endpoint/fake-server.ts";
import type { PushedSeries } from "./remote-write.ts";

/** A series with its samples, [seconds, value]. */
export interface FakeSeries {
  readonly labels: Readonly<Record<string, string>>;
  samples: [number, string][];
}

/** The series of namespace `shop` as another namespace has them, with `factor` times the traffic. */
export function inNamespace(
  series: readonly PushedSeries[],
  namespace: string,
  factor: number,
): FakeSeries[] {
  return series.map(({ labels, samples }) => ({
    labels: Object.fromEntries(
      Object.entries(labels).map(([name, value]) => [name, value === "shop" ? namespace : value]),
    ),
    samples: (samples ?? []).map(([timeMs, value]): [number, string] => [
      timeMs / 1_000,
      String(factor * value),
    ]),
  }));
}

/** Answers bare range selectors with stored samples, as Prometheus does, and may lie about them. */
export class FakePrometheus {
  series: FakeSeries[] = [];
  /** Changes every answer on its way out. */
  lie: (result: FakeSeries[]) => FakeSeries[] = (result) => result;
  /** What an answer has beside its data, such as warnings. */
  beside: (query: string) => object = () => ({});
  readonly server: FakeServer;

  private constructor(server: FakeServer) {
    this.server = server;
  }

  static async start(): Promise<FakePrometheus> {
    const server = await FakeServer.start(() => undefined);
    const fake = new FakePrometheus(server);
    server.handler = (request, response, body) => {
      const search =
        request.method === "POST"
          ? new URLSearchParams(body)
          : new URL(request.url ?? "", "http://x").searchParams;
      json(response, fake.answer(search.get("query") ?? "", Number(search.get("time"))));
    };
    return fake;
  }

  answer(query: string, atSeconds: number): unknown {
    return { ...this.wholeAnswer(query, atSeconds), ...this.beside(query) };
  }

  private wholeAnswer(query: string, atSeconds: number): object {
    if (query.startsWith("count by (__name__)")) return this.success("vector", this.counts(atSeconds));
    const matched = /^([a-zA-Z_:]+)(?:\{(.*)\})?\[(\d+)s\]$/.exec(query);
    if (matched === null) return this.success("vector", []);
    const [, name, conditions, range] = matched;
    const wanted = [...(conditions ?? "").matchAll(/([a-z_]+)(=~|=)"((?:[^"\\]|\\.)*)"/g)];
    const result = this.series
      .filter(({ labels }) => labels["__name__"] === name)
      .filter(({ labels }) =>
        wanted.every(([, label, operator, value]) =>
          operator === "="
            ? labels[label!] === value
            : new RegExp(`^(?:${value})$`).test(labels[label!] ?? ""),
        ),
      )
      .map(({ labels, samples }) => ({
        labels,
        samples: samples.filter(([seconds]) => seconds > atSeconds - Number(range) && seconds <= atSeconds),
      }))
      .filter(({ samples }) => samples.length > 0);
    return this.success(
      "matrix",
      this.lie(result).map(({ labels, samples }) => ({ metric: labels, values: samples })),
    );
  }

  private counts(atSeconds: number): unknown[] {
    const names = new Map<string, number>();
    for (const { labels } of this.series)
      names.set(labels["__name__"]!, (names.get(labels["__name__"]!) ?? 0) + 1);
    return [...names].map(([name, count]) => ({
      metric: { __name__: name },
      value: [atSeconds, String(count)],
    }));
  }

  private success(resultType: string, result: unknown[]): object {
    return { status: "success", data: { resultType, result }, warnings: [] };
  }
}
