import { seededRng } from "@tradewind/core/values/rng.ts";
import { drawQueue, responseAlone, simulateQueue } from "./simulate-queue.ts";
import type { QueueDraws, SimulatedQueue } from "./simulate-queue.ts";
import {
  CHANCE,
  freeSizes,
  PERIOD_DEMANDS,
  QUOTA_SHARES,
  STALL_COUNT,
  stallSizes,
  STATISTIC_COUNT,
  UTILISATIONS,
  VARIATIONS,
} from "../../predictor/models/queue/table-grid.ts";

/** Requests of a run below utilisation 0.4, up to 0.7 and above: a fuller container forgets more slowly. */
const REQUESTS = [20_000, 40_000, 80_000] as const;
/** Share of a run at its start that is not counted: it begins empty. */
const WARM_UP = 0.05;
/** Requests of a batch, as in a window of 15 s at 40 requests per second. */
const BATCH = 600;
/** Quota of a period under which a smaller one changes nothing but the number of events: requests take many periods. */
const LEAST_QUOTA = 0.1;
/** Utilisation from which runs are corrected by the exact mean without a quota. */
const CORRECTED_FROM = 0.45;

/** Numbers by place, `width` for each, in the order of the axes' sizes. */
interface Table {
  readonly sizes: readonly number[];
  readonly width: number;
  readonly numbers: Float64Array;
}

/** How requests are served in a table. */
interface Kind {
  readonly parallelisms: readonly number[];
  /** One thread a core that takes one request after the other; else requests share the cores. */
  readonly isInOrder: boolean;
  readonly requests: readonly number[];
}

/**
 * Two tables by simulation of Poisson arrivals and log-normal demands: ln of the response time over the mean demand without
 * a quota, and ln of the factor that a quota puts on it at the same load. All places have the same random numbers. Above
 * half load what a queue adds is multiplied by exact over simulated without a quota. Then they are made monotone: both up in
 * utilisation and down in parallelism, the factor down in quota share.
 */
export function buildTables(
  parallelisms: readonly number[],
  isInOrder: boolean,
  requests: readonly number[] = REQUESTS,
): { free: Float64Array; stall: Float64Array } {
  const kind: Kind = { parallelisms, isInOrder, requests };
  const free = tableOf(freeSizes(parallelisms), STATISTIC_COUNT);
  const stall = tableOf(stallSizes(parallelisms), STALL_COUNT);
  const factors = tableOf(free.sizes, 1);
  everywhere(kind, (at, draws) => {
    fillFree(free, factors, at, kind, draws);
  });
  for (let statistic = 0; statistic < STATISTIC_COUNT; statistic += 1) {
    monotone(free, statistic, [
      [0, 1],
      [2, -1],
    ]);
  }
  everywhere(kind, (at, draws) => {
    fillStall(stall, at, { ...kind, free, factor: factors.numbers[placeOf(free.sizes, at)] ?? 1 }, draws);
  });
  for (let statistic = 0; statistic < STATISTIC_COUNT; statistic += 1) {
    monotone(stall, statistic, [
      [0, 1],
      [1, -1],
      [4, -1],
    ]);
  }
  return { free: free.numbers, stall: stall.numbers };
}

const tableOf = (sizes: readonly number[], width: number): Table => ({
  sizes,
  width,
  numbers: new Float64Array(width * sizes.reduce((product, size) => product * size, 1)),
});

/** Visits utilisations (0 first), variations and parallelisms with the random numbers of a run there. */
function everywhere(
  { parallelisms, requests }: Kind,
  each: (at: readonly [u: number, v: number, m: number], draws: QueueDraws) => void,
): void {
  VARIATIONS.forEach((variation, v) => {
    const drawn = requests.map((count) => drawQueue(seededRng(1), count, variation));
    UTILISATIONS.forEach((utilisation, u) => {
      const draws = drawn[utilisation < 0.4 ? 0 : utilisation < 0.7 ? 1 : 2];
      if (draws !== undefined) parallelisms.forEach((_, m) => each([u, v, m], draws));
    });
  });
}

/** Response without a quota, and exact over simulated of what the queue adds. */
function fillFree(
  free: Table,
  factors: Table,
  at: readonly [number, number, number],
  { isInOrder, parallelisms }: Kind,
  draws: QueueDraws,
): void {
  const [u, v, m] = at;
  const utilisation = UTILISATIONS[u] ?? 0;
  const parallelism = parallelisms[m] ?? 1;
  const found = statisticsOf({ utilisation, parallelism, quotaShare: 1, periodDemands: 1, isInOrder }, draws);
  const wait = (found[0] ?? 1) - 1;
  const exact = isInOrder
    ? meanInOrder(utilisation, VARIATIONS[v] ?? 1)
    : meanWithoutQuota(utilisation, parallelism);
  const factor = utilisation >= CORRECTED_FROM && wait > 0.01 ? (exact - 1) / wait : 1;
  factors.numbers[placeOf(factors.sizes, at)] = factor;
  const place = placeOf(free.sizes, at) * free.width;
  const empty = placeOf(free.sizes, [0, v, m]) * free.width;
  for (let statistic = 0; statistic < STATISTIC_COUNT; statistic += 1) {
    const here = found[statistic] ?? 0;
    const alone = u === 0 ? here : Math.exp(free.numbers[empty + statistic] ?? 0);
    free.numbers[place + statistic] = Math.log(alone + (here - alone) * factor);
  }
}

/** Factor of the quota at all quota shares and periods of one utilisation, variation and parallelism. */
function fillStall(
  stall: Table,
  [u, v, m]: readonly [number, number, number],
  { factor, free, isInOrder, parallelisms }: Kind & { readonly free: Table; readonly factor: number },
  draws: QueueDraws,
): void {
  const utilisation = UTILISATIONS[u] ?? 0;
  const parallelism = parallelisms[m] ?? 1;
  QUOTA_SHARES.forEach((quotaShare, q) => {
    PERIOD_DEMANDS.forEach((period, p) => {
      const place = placeOf(stall.sizes, [u, q, p, v, m]) * stall.width;
      // Under a tenth of the cores in use the quota is all that counts, and the curve is read at one core or more; without a
      // quota the period is nothing.
      const like = quotaShare < 0.1 ? [u, q, p, v, 0] : quotaShare === 1 ? [u, q, 0, v, m] : [u, q, p, v, m];
      const same = placeOf(stall.sizes, like) * stall.width;
      if (same !== place) {
        stall.numbers.copyWithin(place, same, same + STALL_COUNT);
        return;
      }
      const periodDemands = Math.max(period, LEAST_QUOTA / (quotaShare * parallelism));
      const found = statisticsOf({ utilisation, parallelism, quotaShare, periodDemands, isInOrder }, draws);
      const empty = placeOf(stall.sizes, [0, q, p, v, m]) * stall.width;
      for (let statistic = 0; statistic < STATISTIC_COUNT; statistic += 1) {
        const here = found[statistic] ?? 0;
        const unloaded = Math.exp(
          freeAt(free, 0, [v, m], statistic) + (stall.numbers[empty + statistic] ?? 0),
        );
        const value = u === 0 ? here : unloaded + (here - unloaded) * factor;
        const without = freeAt(free, utilisation * quotaShare, [v, m], statistic);
        stall.numbers[place + statistic] = quotaShare === 1 ? 0 : Math.max(0, Math.log(value) - without);
      }
      stall.numbers[place + CHANCE] = Math.log(found[CHANCE] ?? 1);
    });
  });
}

/** The response without a quota between the utilisations of the grid, as it is read. */
function freeAt(
  { numbers, sizes, width }: Table,
  utilisation: number,
  [v, m]: readonly [number, number],
  statistic: number,
): number {
  let cell = 0;
  while (cell < UTILISATIONS.length - 2 && utilisation > (UTILISATIONS[cell + 1] ?? 1)) cell += 1;
  const [from, to] = [UTILISATIONS[cell] ?? 0, UTILISATIONS[cell + 1] ?? 1];
  const share = Math.log((1 - from) / (1 - utilisation)) / Math.log((1 - from) / (1 - to));
  const low = numbers[placeOf(sizes, [cell, v, m]) * width + statistic] ?? 0;
  const high = numbers[placeOf(sizes, [cell + 1, v, m]) * width + statistic] ?? 0;
  return low + share * (high - low);
}

/** Mean response of one thread without a quota that takes requests in order (Pollaczek and Khinchine). */
export function meanInOrder(utilisation: number, variation: number): number {
  return 1 + (utilisation * (1 + variation ** 2)) / (2 * (1 - utilisation));
}

/** Mean response without a quota: M/M/m under processor sharing, whatever the demands (Erlang C). */
export function meanWithoutQuota(utilisation: number, parallelism: number): number {
  const offered = utilisation * parallelism;
  let blocked = 1;
  for (let cores = 1; cores <= parallelism; cores += 1)
    blocked = (offered * blocked) / (cores + offered * blocked);
  const waits = blocked / (1 - utilisation * (1 - blocked));
  return 1 + waits / (parallelism * (1 - utilisation));
}

const placeOf = (sizes: readonly number[], at: readonly number[]): number =>
  sizes.reduce((place, size, axis) => place * size + (at[axis] ?? 0), 0);

/** Mean, p50, p95, p99, and the variance of ln p95 among batches times their requests. */
export function statisticsOf(model: SimulatedQueue, draws: QueueDraws): Float64Array {
  const phases = seededRng(2);
  const all =
    model.utilisation === 0
      ? draws.demands.map((demand) => responseAlone(demand, phases(), model))
      : simulateQueue(model, draws);
  const counted = all.subarray(Math.floor(WARM_UP * all.length));
  const out = new Float64Array(STALL_COUNT);
  out[0] = counted.reduce((sum, each) => sum + each, 0) / counted.length;
  out[CHANCE] = chanceOf(counted);
  const sorted = Float64Array.from(counted).sort();
  [0.5, 0.95, 0.99].forEach((ratio, i) => {
    out[i + 1] = sorted[Math.floor(ratio * sorted.length)] ?? 0;
  });
  return out;
}

function chanceOf(responses: Float64Array): number {
  const logs: number[] = [];
  for (let from = 0; from + BATCH <= responses.length; from += BATCH) {
    const sorted = responses.slice(from, from + BATCH).sort();
    logs.push(Math.log(sorted[Math.floor(0.95 * BATCH)] ?? 1));
  }
  const mean = logs.reduce((sum, each) => sum + each, 0) / logs.length;
  const variance = logs.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (logs.length - 1);
  return Math.max(1, BATCH * variance);
}

/** An axis, and whether the numbers rise (1) or fall (-1) along it. */
type Direction = readonly [axis: number, sign: 1 | -1];

/** Half-way between the least monotone table above the numbers and the greatest below them. */
function monotone(
  { numbers, sizes, width }: Table,
  statistic: number,
  directions: readonly Direction[],
): void {
  const above = numbers.filter((_, i) => i % width === statistic);
  const below = above.slice();
  for (const [axis, sign] of directions) {
    sweep(above, sizes, [axis, sign], Math.max);
    sweep(below, sizes, [axis, sign === 1 ? -1 : 1], Math.min);
  }
  above.forEach((value, place) => {
    numbers[place * width + statistic] = (value + (below[place] ?? 0)) / 2;
  });
}

/** Along one axis, from its first point (1) or its last (-1), every value becomes the worse of itself and the one before. */
function sweep(
  values: Float64Array,
  sizes: readonly number[],
  [axis, direction]: Direction,
  worse: (a: number, b: number) => number,
): void {
  const size = sizes[axis] ?? 1;
  for (let step = 1; step < size; step += 1) {
    const here = direction > 0 ? step : size - 1 - step;
    visit(sizes, (at, place) => {
      if (at[axis] !== here) return;
      values[place] = worse(values[place] ?? 0, values[placeOf(sizes, at.with(axis, here - direction))] ?? 0);
    });
  }
}

function visit(sizes: readonly number[], each: (at: readonly number[], place: number) => void): void {
  const count = sizes.reduce((product, size) => product * size, 1);
  for (let place = 0; place < count; place += 1) {
    const at: number[] = [];
    let rest = place;
    for (let axis = sizes.length - 1; axis >= 0; axis -= 1) {
      const size = sizes[axis] ?? 1;
      at[axis] = rest % size;
      rest = Math.floor(rest / size);
    }
    each(at, place);
  }
}
