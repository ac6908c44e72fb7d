/**
 * What a request is, and how much was seen: telemetry of many kinds, made with what is true of it, through the product's own way from what
 * senders export to windows and plans, by a clock that nobody waits for. A case is right when rates, call graph and 95th percentiles
 * are within 3 %; where a part is lost beyond repair, when the plan says so. Losses are injected into healthy telemetry.
 */
import { readSections } from "@tradewind/predictor/sources/sources-config.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { FakePrometheus } from "../../test/predictor/sources/prometheus/fake-prometheus.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { ARRIVAL } from "./cases/arrival.ts";
import { CALLS } from "./cases/calls.ts";
import type { RequestCase } from "./cases/case.ts";
import { CONVENTIONS } from "./cases/conventions.ts";
import { EDGES } from "./cases/edges.ts";
import { MESSAGING } from "./cases/messaging.ts";
import { METRICS } from "./cases/metrics.ts";
import { MIXTURES } from "./cases/mixtures.ts";
import { PROXIES } from "./cases/proxies.ts";
import { judge } from "./judge.ts";
import type { Verdict } from "./judge.ts";
import { lossFigures } from "./losses.ts";
import { play } from "./stage.ts";
import type { Setting } from "./stage.ts";
import { World } from "./traffic.ts";

export const benchmark: Benchmark = {
  summary: "what a request is and how much was seen: cases of telemetry, and losses that are to be found",
  options: { only: { type: "string" } },
  run,
};

const CASES = [
  ...CALLS,
  ...EDGES,
  ...MESSAGING,
  ...PROXIES,
  ...CONVENTIONS,
  ...ARRIVAL,
  ...METRICS,
  ...MIXTURES,
];
const START_MS = 1_800_000_000_000;
const WINDOWS = 9;
const HEALTHY_WINDOWS = 1_050;
/** Traffic goes on for so long after the last window. */
const MARGIN_MS = 60_000;

interface Row extends Verdict {
  readonly name: string;
  readonly isRight: boolean;
}

async function run({ progress, quick, seed, values }: BenchmarkOptions): Promise<Record<string, unknown>> {
  const { only } = values;
  const chosen = CASES.filter(({ name }) => typeof only !== "string" || only.split(",").includes(name));
  const rows: Row[] = [];
  for (const [index, each] of chosen.entries()) {
    progress(`${index + 1} of ${chosen.length}: ${each.name}`);
    rows.push(await playCase(each, seed));
  }
  const healthyWindows = quick ? 20 : HEALTHY_WINDOWS;
  const losses = typeof only === "string" ? undefined : await lossFigures(seed, { healthyWindows, progress });
  return {
    cases: rows.length,
    right: rows.filter(({ isRight }) => isRight).length,
    wrongSaidComplete: rows.filter(({ isRight, isSaid }) => !isRight && !isSaid).length,
    ...(losses && { losses }),
    rows: rows.map((row) => rowOf(row)),
  };
}

async function playCase({ isLost, make, name, setting: own }: RequestCase, seed: number): Promise<Row> {
  const setting: Setting = { entry: "web", services: ["web", "search", "store"], ...own };
  const lengthMs = 1e3 * (setting.windowSeconds ?? 15);
  const toMs = START_MS + WINDOWS * lengthMs;
  const world = new World(seed, START_MS, toMs + MARGIN_MS);
  make(world);
  const server = world.series.length > 0 ? await FakePrometheus.start() : undefined;
  try {
    const { sources } = await readSections(undefined);
    if (server !== undefined) {
      server.series = world.series;
      const backfill = { enabled: false };
      sources.prometheus.push(PrometheusOptions.parse({ url: server.server.url, backfill }));
    }
    const played = await play({ ...setting, sources }, world.spans, { fromMs: START_MS, toMs });
    const verdict = judge(played, setting, world.truth);
    const isRight = isLost === true ? verdict.isSaid : verdict.wrong.length === 0;
    return { name, ...verdict, isRight };
  } finally {
    await server?.server.stop();
  }
}

const rowOf = ({ isRight, isSaid, name, wrong }: Row): Record<string, unknown> => ({
  name,
  right: isRight,
  ...(isSaid && { said: true }),
  ...(!isRight && { wrong }),
});
