/**
 * `npm run -s bench -- picture --output docs/images/surge.svg`: the incident of `tradewind try --demo` under an HPA and under
 * Tradewind, drawn over one time: what users see, and what is moved for it.
 */
import { writeFileSync } from "node:fs";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { STYLE } from "@tradewind/simulator/backtest/report/html.ts";
import { chart, escapeHtml } from "@tradewind/simulator/backtest/report/svg.ts";
import type { Series } from "@tradewind/simulator/backtest/report/svg.ts";
import { HPA_CPU } from "@tradewind/simulator/contenders/hpa.ts";
import { OURS } from "@tradewind/simulator/contenders/ours/ours.ts";
import { recorded } from "@tradewind/simulator/contenders/recorded.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import type { RunResult } from "@tradewind/simulator/contenders/run.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import { INCIDENT } from "@tradewind/simulator/try/demo.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";

const OPTIONS = { output: { type: "string" } } as const;
const WIDTH = 860;
const HEIGHT = 170;
const HEAD_LINE = 20;
const HEAD = 76;

interface Ran {
  readonly name: string;
  readonly tone: Series["tone"];
  readonly sets: readonly WindowSet[];
  readonly result: RunResult;
}

/** What one window is drawn as. */
const PICTURES: readonly (readonly [label: string, value: (set: WindowSet) => number])[] = [
  ["requests per second", ({ flows }) => sumOf(flows, ({ requestsPerSecond }) => requestsPerSecond)],
  [
    "p95 of the slowest route, ms",
    ({ flows }) => Math.max(0, ...flows.map(({ latency }) => 1e3 * latency.p95Seconds)),
  ],
  ["replicas ready, all services", ({ windows }) => sumOf(windows, ({ replicasReady = 0 }) => replicasReady)],
  [
    "CPU given, cores",
    ({ windows }) =>
      sumOf(windows, ({ containers }) => sumOf(containers, ({ cpuRequestCores = 0 }) => cpuRequestCores)),
  ],
];

const sumOf = <Item>(items: readonly Item[], value: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + value(item), 0);

const percent = (ratio: number): string => `${(100 * ratio).toFixed(2)} %`;

function pictureOf(rans: readonly Ran[], objectiveMs: number): string {
  const startMs = rans[0]?.sets[0]?.startMs ?? 0;
  const minutes = (set: WindowSet): number => (set.endMs - startMs) / 60_000;
  const charts = PICTURES.map(([label, value], place) => {
    const series = rans.map(({ name, sets, tone }) => ({
      name,
      tone,
      x: sets.map(minutes),
      y: sets.map(value),
    }));
    const mark = place === 1 ? { mark: { value: objectiveMs, label: `objective ${objectiveMs} ms` } } : {};
    const drawn = chart(place === 0 ? series.slice(0, 1) : series, {
      title: label,
      x: { label, format: (each) => `${each} min` },
      y: { label, format: (each) => String(+each.toPrecision(3)), ...mark },
      width: WIDTH,
      height: HEIGHT,
    });
    return drawn.replace("<svg ", `<svg y="${HEAD + place * HEIGHT}" width="${WIDTH}" height="${HEIGHT}" `);
  });
  const words = rans.map(
    ({ name, result, tone }, place) =>
      `<text x="64" y="${HEAD_LINE * (place + 1)}" style="fill:var(--${tone});font-size:14px">${escapeHtml(`${name}: ${percent(result.requestsOver)} of the requests over the objective, ${result.costPerHour.toFixed(3)} an hour, ${result.starts} pods started`)}</text>`,
  );
  const height = HEAD + PICTURES.length * HEIGHT;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="A surge under an HPA and under Tradewind (simulated)"><style>${STYLE} svg{font-family:system-ui,sans-serif}</style><rect width="${WIDTH}" height="${height}" style="fill:var(--page)"/>${words.join("")}${charts.join("")}</svg>\n`;
}

async function draw({ progress, seed, values }: BenchmarkOptions): Promise<Record<string, unknown>> {
  const ours = OURS.find(({ name }) => name === "tradewind-auto");
  if (ours === undefined) throw new Error("tradewind-auto is not in the course any more");
  const contenders = [
    { name: "HPA at 60 % CPU", tone: "b", contender: HPA_CPU, actuators: "replicas" },
    { name: "Tradewind, replicas only", tone: "c", contender: ours, actuators: "replicas" },
    { name: "Tradewind, sizes too", tone: "a", contender: ours, actuators: "replicas+cpu+memory" },
  ] as const;
  const obstacle = obstacleOf(INCIDENT);
  const rans: Ran[] = [];
  for (const { actuators, contender, name, tone } of contenders) {
    progress(name);
    const sets: WindowSet[] = [];
    const result = await run({ obstacle, contender: recorded(contender, sets), actuators, seed });
    rans.push({ name, tone, sets, result });
  }
  const output = values["output"];
  if (typeof output === "string") writeFileSync(output, pictureOf(rans, INCIDENT.objectiveMs));
  return {
    simulated: true,
    objectiveMs: INCIDENT.objectiveMs,
    contenders: Object.fromEntries(rans.map(({ name, result }) => [name, result])),
  };
}

export const benchmark: Benchmark = {
  summary: "the surge of try --demo under an HPA and under Tradewind, as a picture",
  options: OPTIONS,
  run: draw,
};
