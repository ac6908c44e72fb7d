/**
 * Error of p95 at loads and sizes that were not seen, after 10, 40 and 200 windows of simulated containers, for
 * docs/models.md: `node test/predictor/models/queue/measure-tracking.ts [services] [seed] [loud]`.
 */
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { emptyProfile, predictOwnTime } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { track } from "@tradewind/predictor/models/queue/track.ts";
import type {
  OwnTime,
  ProfileObservation,
  ProfileState,
} from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { median } from "@tradewind/core/values/statistics.ts";
import { quantileOf, SimulatedContainer, SimulatedService } from "./simulated-container.ts";
import type { Truth } from "./simulated-container.ts";

const CHECKED = [10, 40, 200] as const;
const REFERENCE_REQUESTS = 30_000;
const UNSEEN_UTILISATION = 0.75;

const pick = <T>(rng: Rng, from: readonly T[]): T => from[Math.floor(rng() * from.length)] as T;
const between = (rng: Rng, low: number, high: number): number => low * (high / low) ** rng();

function randomTruth(rng: Rng): Truth {
  const cores = pick(rng, [0.2, 0.5, 1, 1, 2, 2, 4]);
  const threads = pick(rng, [1, 1, 4, 16, Infinity]);
  return {
    cores,
    threads,
    nodeCores: 16,
    demandMs: between(rng, 4, 60),
    cv: between(rng, 0.3, 2),
    housekeepingCores: between(rng, 0.002, 0.02),
    ...(rng() < 0.6 && { baseMs: between(rng, 1, 40), baseCv: between(rng, 0.2, 1.5) }),
  };
}

const capacity = ({ cores, nodeCores, threads }: Truth): number => Math.min(cores, threads, nodeCores ?? 64);
const loadAt = (truth: Truth, used: number): number =>
  ((used * capacity(truth) - (truth.housekeepingCores ?? 0)) * 1e3) / truth.demandMs;

/** p95 in the long run, seconds. */
function longRun(truth: Truth, load: number, seed: number): number {
  const container = new SimulatedContainer(truth, seed);
  return quantileOf(container.run(load, REFERENCE_REQUESTS / load).latencies, 0.95) / 1e3;
}

interface Place {
  readonly name: string;
  readonly cores: number;
  readonly load: number;
  readonly p95: number;
}

/** Places with the truth of each: where it was seen, a higher load, half the size, and one container's load doubled at twice. */
function places(truth: Truth, seed: number): Place[] {
  const make = (name: string, cores: number, used: number): Place => {
    const there = { ...truth, cores };
    const load = loadAt(there, used);
    return { name, cores, load, p95: longRun(there, load, seed) };
  };
  const half = 0.5 * truth.cores;
  const shared = Math.min(0.8, (0.3 * capacity(truth)) / capacity({ ...truth, cores: half }));
  return [
    make("seen (0.35)", truth.cores, 0.35),
    make("load up (0.75)", truth.cores, UNSEEN_UTILISATION),
    make("size halved, same load", half, shared),
    make("size doubled, used 0.7", 2 * truth.cores, 0.7),
  ];
}

interface Row {
  readonly name: string;
  readonly after: number;
  readonly ours: number;
  readonly sigma: number;
  readonly median: number;
}

const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };

function judge(
  state: ProfileState,
  windows: readonly ProfileObservation[],
  place: Place,
): Omit<Row, "after"> {
  predictOwnTime(state, { cpuCores: place.cores, loadPerContainer: place.load }, 0.95, out);
  const lasts = windows.slice(-10).flatMap(({ p95Seconds }) => p95Seconds ?? []);
  return {
    name: place.name,
    ours: Math.log(out.tailSeconds / place.p95),
    sigma: out.sigma,
    median: Math.log(median(lasts) / place.p95),
  };
}

const seed = Number(process.argv[3] ?? 12);
const rng = seededRng(seed);
const rows: Row[] = [];
const services = Number(process.argv[2] ?? 40);
const isLoud = process.argv[4] === "loud";
for (let service = 1; service <= services; service += 1) {
  const truth = randomTruth(rng);
  const simulated = new SimulatedService(truth, 1, 100 * seed + service);
  const there = places(truth, 500 * seed + service);
  let state = emptyProfile();
  const windows: ProfileObservation[] = [];
  let used = 0.3;
  for (let window = 1; window <= 200; window += 1) {
    used = Math.min(0.5, Math.max(0.15, used + 0.06 * (rng() - 0.5)));
    const observation = simulated.window(Math.max(0.2, loadAt(truth, used)));
    windows.push(observation);
    state = track(state, observation);
    const after = CHECKED.find((each) => each === window);
    if (after === undefined) continue;
    for (const place of there) rows.push({ ...judge(state, windows, place), after });
  }
  if (isLoud) {
    const last = rows
      .slice(-there.length)
      .map(({ ours, sigma }) => `${percent(Math.expm1(ours))} (${percent(sigma)})`);
    const best = state.weights.indexOf(Math.max(...state.weights));
    const numbers = (values: readonly number[]): string =>
      values.map((each) => each.toPrecision(2)).join(" ");
    console.log(
      JSON.stringify(truth),
      `| ${numbers(state.weights)} | ${numbers((state.means[best] ?? []).map(Math.exp))} |`,
      `${numbers(state.residuals.map(Math.sqrt))} | ${last.join(", ")}`,
    );
  }
}

function percent(value: number): string {
  return `${(100 * value).toFixed(0)} %`;
}

const error = (logs: readonly number[]): string => {
  const errors = logs.map((each) => Math.abs(Math.expm1(each)));
  return `${percent(median(errors))} / ${percent(quantileOf(errors, 0.9))}`;
};
console.log("place, windows: |error| median / 90th: ours, median of windows; coverage of 90 %; sigma");
for (const name of new Set(rows.map((row) => row.name))) {
  for (const after of CHECKED) {
    const these = rows.filter((row) => row.name === name && row.after === after);
    const covered = these.filter(({ ours, sigma }) => Math.abs(ours) <= 1.645 * sigma).length / these.length;
    console.log(
      `${name}, ${after}: ${error(these.map(({ ours }) => ours))}; ${error(these.map((row) => row.median))}; ` +
        `${percent(covered)}; ${percent(median(these.map(({ sigma }) => sigma)))}`,
    );
  }
}
