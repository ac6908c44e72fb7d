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
    if (/\{__name__=~?""/.test(query)) {
      const error = "vector selector must contain at least one non-empty matcher";
      return { status: "error", errorType: "bad_data", error };
    }
    const counted = /^count by \((.*?)\) \((.*)\)$/.exec(query);
    if (counted !== null) {
      const [, by = "", selected = ""] = counted;
      return this.success("vector", this.counts(by.split(","), this.matching(selected), atSeconds));
    }
    const ranged = /^(.*)\[(\d+)s\]$/.exec(query);
    const [, selected = query, range = "300"] = ranged ?? [];
    const result = this.matching(selected)
      .map(({ labels, samples }) => ({
        labels,
        samples: samples.filter(([seconds]) => seconds > atSeconds - Number(range) && seconds <= atSeconds),
      }))
      .filter(({ samples }) => samples.length > 0);
    if (ranged === null) {
      const last = result.map(({ labels, samples }) => ({ metric: labels, value: samples.at(-1) }));
      return this.success("vector", last);
    }
    return this.success(
      "matrix",
      this.lie(result).map(({ labels, samples }) => ({ metric: labels, values: samples })),
    );
  }

  /** The series that a selector means; none where it is another expression. */
  private matching(selected: string): FakeSeries[] {
    const parts = /^([a-zA-Z_:]*)(?:\{(.*)\})?$/.exec(selected);
    if (parts === null) return [];
    const [, name, conditions = ""] = parts;
    const wanted = [...conditions.matchAll(/([a-zA-Z_]+)(=~|!~|!=|=)("(?:[^"\\]|\\.)*")/g)];
    return this.series.filter(
      ({ labels }) =>
        (name === "" || labels["__name__"] === name) &&
        wanted.every(([, label = "", operator = "", text = ""]) => {
          const [value, own] = [JSON.parse(text) as string, labels[label] ?? ""];
          const isMet = operator.endsWith("~") ? new RegExp(`^(?:${value})$`).test(own) : own === value;
          return isMet !== operator.startsWith("!");
        }),
    );
  }

  private counts(by: readonly string[], series: readonly FakeSeries[], atSeconds: number): unknown[] {
    const groups = Map.groupBy(series, ({ labels }) =>
      JSON.stringify(by.flatMap((label) => (labels[label] === undefined ? [] : [[label, labels[label]]]))),
    );
    return [...groups].map(([key, members]) => ({
      metric: Object.fromEntries(JSON.parse(key) as [string, string][]),
      value: [atSeconds, String(members.length)],
    }));
  }

  private success(resultType: string, result: unknown[]): object {
    return { status: "success", data: { resultType, result }, warnings: [] };
  }
}
