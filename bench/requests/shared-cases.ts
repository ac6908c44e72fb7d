import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { mean } from "@tradewind/core/values/statistics.ts";
import { JaegerOptions } from "@tradewind/predictor/sources/jaeger/options.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import type { Sections } from "@tradewind/predictor/sources/sources-config.ts";
import { TempoOptions } from "@tradewind/predictor/sources/tempo/options.ts";
import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import { z } from "zod";
import { FakePrometheus } from "../../test/predictor/sources/prometheus/fake-prometheus.ts";
import type { FakeSeries } from "../../test/predictor/sources/prometheus/fake-prometheus.ts";
import type { Verdict } from "./judge.ts";
import { play } from "./stage.ts";
import type { Played } from "./stage.ts";
import { startTraceStore, StoreLook } from "./trace-store.ts";
import { World } from "./traffic.ts";
import type { SentSpan } from "./traffic.ts";

/* Cases as files: one input each, and bounds of what is right. Times are ms before the moment of a round, unless they are called seconds. */

const Bounds = z.tuple([z.number(), z.number()]);
const Texts = z.record(z.string(), z.string());
const CaseSpan = z.object({
  service: z.string(),
  name: z.string(),
  kind: z.string(),
  id: z.string(),
  ms: z.number(),
  endMs: z.number().default(0),
  trace: z.string().default("t"),
  parent: z.string().optional(),
  traceState: z.string().optional(),
  error: z.boolean().default(false),
  attributes: Texts.default({}),
  resource: Texts.default({}),
  repeat: z.object({ count: z.number(), everyMs: z.number() }).default({ count: 1, everyMs: 0 }),
});
const CaseSeries = z.object({
  count: z.string().optional(),
  histogram: z.string().optional(),
  unitSeconds: z.number().default(1),
  labels: Texts.default({}),
  each: z.array(
    z.object({
      labels: Texts,
      perSecond: z.number(),
      seconds: z.number().default(0),
      from: z.number().default(0),
    }),
  ),
  notInHistogram: z.array(z.string()).default([]),
  everySeconds: z.number().default(5),
  offsetSeconds: z.number().default(0),
});
const Expected = z.object({
  requestsPerSecond: Bounds.optional(),
  responseP50Ms: Bounds.optional(),
  responseP95Ms: Bounds.optional(),
  ownP50Ms: Bounds.optional(),
  ownP95Ms: Bounds.optional(),
  callees: z.record(z.string(), Bounds).default({}),
  noCallees: z.array(z.string()).default([]),
});
const CaseFile = z.object({
  name: z.string(),
  config: z.object({
    entry: z.string(),
    services: z.array(z.string()),
    window: z.string().default("5s"),
    objectiveMs: z.number().default(250),
    grace: z.string().optional(),
    prometheus: z.record(z.string(), z.unknown()).default({}),
  }),
  seconds: z.number(),
  fixedIds: z.record(z.string(), z.number()).default({}),
  flushes: z.record(z.string(), z.array(z.object({ every: z.number(), phase: z.number() }))).default({}),
  streams: z
    .array(z.object({ perSecond: z.number(), delaySeconds: z.number().default(0), spans: z.array(CaseSpan) }))
    .default([]),
  series: z.array(CaseSeries).default([]),
  store: z
    .object({
      kind: z.enum(["jaeger", "tempo"]),
      as: StoreLook,
      options: z.record(z.string(), z.unknown()).default({}),
    })
    .optional(),
  expect: z.object({
    services: z.record(z.string(), Expected).default({}),
    measuredMs: Bounds.optional(),
    replicasAtMost: z.record(z.string(), z.number()).default({}),
    everyWindow: z.boolean().default(false),
    orSaid: z.boolean().default(false),
  }),
});
type CaseFile = z.infer<typeof CaseFile>;

const seconds = (text: string): number => Number.parseFloat(text) / (text.endsWith("ms") ? 1e3 : 1);

export const caseFiles = (directory: string): string[] =>
  readdirSync(directory)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => join(directory, name));

/** Plays one file. @throws Error when it is no case */
export async function playFile(
  path: string,
  seed: number,
  startMs: number,
  defaults: Sections["sources"],
): Promise<Verdict & { readonly name: string; readonly isRight: boolean }> {
  const given = CaseFile.parse(JSON.parse(readFileSync(path, "utf8")));
  const { config, name, series, store } = given;
  const toMs = startMs + 1e3 * given.seconds;
  let sources = defaults;
  const stops: (() => Promise<void>)[] = [];
  try {
    if (series.length > 0) {
      const server = await FakePrometheus.start();
      stops.push(async () => server.server.stop());
      server.series = series.flatMap((each) => seriesOf(each, startMs, toMs));
      const options = { scrapeIntervalSeconds: 5, backfill: { enabled: false }, ...config.prometheus };
      const prometheus = [PrometheusOptions.parse({ url: server.server.url, ...options })];
      sources = { ...sources, prometheus };
    }
    if (store !== undefined) {
      const server = await startTraceStore(store.as, startMs, toMs);
      stops.push(async () => server.stop());
      const options = { url: server.url, graceSeconds: 2, ...store.options };
      sources =
        store.kind === "jaeger"
          ? { ...sources, jaeger: [JaegerOptions.parse(options)] }
          : { ...sources, tempo: [TempoOptions.parse(options)] };
    }
    const setting = {
      ...config,
      sources,
      windowSeconds: seconds(config.window),
      graceSeconds: config.grace === undefined ? undefined : seconds(config.grace),
    };
    const played = await play(setting, spansOf(given, new World(seed, startMs, toMs)), {
      fromMs: startMs,
      toMs,
    });
    const verdict = judgeFile(played, given.expect);
    const isRight = verdict.wrong.length === 0 || (given.expect.orSaid && verdict.isSaid);
    return { name, ...verdict, isRight };
  } finally {
    for (const stop of stops) await stop();
  }
}

function spansOf({ fixedIds, flushes, streams }: CaseFile, world: World): SentSpan[] {
  const fixed = new Map(Object.entries(fixedIds).map(([name, bytes]) => [name, world.id(2 * bytes)]));
  const sent: SentSpan[] = [];
  for (const { delaySeconds, perSecond, spans } of streams) {
    const copies = spans.flatMap((span) =>
      Array.from({ length: span.repeat.count }, (_, copy) => ({ copy, span })),
    );
    for (let round = 1; world.fromMs + (1e3 * round) / perSecond < world.toMs; round += 1) {
      const ids = new Map(fixed);
      const idOf = (name: string, digits: number): string => {
        const id = ids.get(name) ?? world.id(digits);
        ids.set(name, id);
        return id;
      };
      const roundMs = world.fromMs + (1e3 * round) / perSecond;
      for (const { copy, span } of copies) {
        const { count, everyMs } = span.repeat;
        const endMs = roundMs - span.endMs + copy * everyMs;
        let leavesMs = endMs;
        for (const { every, phase } of flushes[span.service] ?? [])
          leavesMs = 1e3 * ((Math.floor((leavesMs / 1e3 - phase) / every) + 1) * every + phase);
        const { attributes, error, kind, ms, name, parent, resource, service, trace, traceState } = span;
        sent.push({
          service,
          resource: { ...(service !== "" && { "service.name": service }), ...resource },
          traceId: idOf(`trace ${trace}`, 32),
          spanId: count === 1 ? idOf(span.id, 16) : world.id(16),
          ...(parent !== undefined && { parentId: idOf(parent, 16) }),
          ...(traceState !== undefined && { traceState }),
          name: name.replace("{n}", String(round)),
          kind: SPAN_KIND[kind.toLowerCase() as keyof typeof SPAN_KIND],
          startMs: endMs - ms,
          endMs,
          statusCode: error ? 2 : 0,
          attributes,
          arrivesMs: leavesMs + 1e3 * delaySeconds,
        });
      }
    }
  }
  return sent;
}

const BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, Infinity];
const HISTORY_SECONDS = 300;

function seriesOf(one: z.infer<typeof CaseSeries>, startMs: number, toMs: number): FakeSeries[] {
  const { count, each, everySeconds, histogram, labels, notInHistogram, offsetSeconds, unitSeconds } = one;
  const firstSeconds = startMs / 1e3 - HISTORY_SECONDS + offsetSeconds;
  return each.flatMap(({ from, labels: own, perSecond, seconds: took }) => {
    const all = { ...labels, ...own };
    const measured = Object.fromEntries(
      Object.entries(all).filter(([name]) => !notInHistogram.includes(name)),
    );
    const grow = (name: string, of: Record<string, string>, share: number): FakeSeries => {
      const samples: FakeSeries["samples"] = [];
      for (let at = firstSeconds; at <= toMs / 1e3; at += everySeconds) {
        const calls = Math.floor((at - startMs / 1e3 + 3 * HISTORY_SECONDS) * perSecond) + from;
        samples.push([at, String(share * calls)]);
      }
      return { labels: { ...of, __name__: name }, samples };
    };
    const buckets = BOUNDS_SECONDS.map((bound) => {
      const le = bound === Infinity ? "+Inf" : String(Number((bound / unitSeconds).toPrecision(6)));
      return grow(`${histogram ?? ""}_bucket`, { ...measured, le }, took <= bound ? 1 : 0);
    });
    const sums = [
      grow(`${histogram ?? ""}_sum`, measured, took / unitSeconds),
      grow(`${histogram ?? ""}_count`, measured, 1),
    ];
    const counted = count === undefined ? [] : [grow(count, all, 1)];
    return histogram === undefined ? counted : counted.concat(buckets, sums);
  });
}

/** All windows but the first two, which begin late, and the last one. */
function judgeFile({ plans, sets }: Played, expected: CaseFile["expect"]): Verdict {
  const judged = sets.slice(2, -1);
  const wrong: string[] = [];
  const check = (
    what: string,
    values: readonly (number | undefined)[],
    bounds: z.infer<typeof Bounds> | undefined,
  ): void => {
    if (bounds === undefined) return;
    const said = mean(values.flatMap((value) => value ?? []));
    if (!(said >= bounds[0] && said <= bounds[1]))
      wrong.push(`${what}: ${said.toFixed(3)}, right is ${bounds.join(" to ")}`);
  };
  for (const [service, right] of Object.entries(expected.services)) {
    const windows = judged.map((set) => set.windows.find((window) => window.service === service));
    const ms = (
      of: "ownLatency" | "responseLatency",
      at: "p50Seconds" | "p95Seconds",
    ): (number | undefined)[] =>
      windows.map((window) => {
        const latency = window?.[of];
        return latency && 1e3 * latency[at];
      });
    check(
      `${service} requests/s`,
      windows.map((window) => window?.requestsPerSecond),
      right.requestsPerSecond,
    );
    check(`${service} p50 ms`, ms("responseLatency", "p50Seconds"), right.responseP50Ms);
    check(`${service} p95 ms`, ms("responseLatency", "p95Seconds"), right.responseP95Ms);
    check(`${service} own p50 ms`, ms("ownLatency", "p50Seconds"), right.ownP50Ms);
    check(`${service} own p95 ms`, ms("ownLatency", "p95Seconds"), right.ownP95Ms);
    const silent = windows.filter(
      (window) => window?.requestsPerSecond === undefined && window?.missing === undefined,
    );
    if (expected.everyWindow && silent.length > 0)
      wrong.push(`${service}: ${silent.length} windows have no rate and do not say so`);
    for (const [callee, bounds] of Object.entries(right.callees)) {
      const calls = windows.map(
        (window) => window?.callees.find((edge) => edge.callee === callee)?.callsPerSecond ?? 0,
      );
      check(`${service} to ${callee} calls/s`, calls, bounds);
    }
    for (const callee of right.noCallees)
      if (windows.some((window) => window?.callees.some((edge) => edge.callee === callee) === true))
        wrong.push(`${service} to ${callee}: there is no such call`);
  }
  const last = plans.at(-1);
  const measuredMs =
    last?.measuredLatencySeconds === undefined ? undefined : 1e3 * last.measuredLatencySeconds;
  check("users' latency ms", [measuredMs], expected.measuredMs);
  for (const [service, most] of Object.entries(expected.replicasAtMost)) {
    const wished = last?.wishes.find((wish) => wish.service === service)?.allocation.replicas ?? 0;
    if (wished > most) wrong.push(`${service}: wants ${wished} replicas, at most ${most} are right`);
  }
  const isSaid =
    last?.complete === false ||
    judged.some((set) => set.windows.some(({ missing }) => missing !== undefined));
  return { wrong, isSaid };
}
