import { seededRng } from "@tradewind/core/rng.ts";
import { drawQueue, responseAlone, simulateQueue } from "./simulate-queue.ts";
import type { QueueDraws, SimulatedQueue } from "./simulate-queue.ts";
import {
  CHANCE,
  PERIOD_DEMANDS,
  QUOTA_SHARES,
  sizesOf,
  STATISTIC_COUNT,
  UTILISATIONS,
  VARIATIONS,
} from "./table-grid.ts";

/** Requests of a run below utilisation 0.5, up to 0.75 and above: a fuller container forgets more slowly. */
const REQUESTS = [30_000, 60_000, 120_000] as const;
/** Share of a run at its start that is not counted: it begins empty. */
const WARM_UP = 0.05;
/** Requests of a batch, as in a window of 15 s at 40 requests per second. */
const BATCH = 600;
/** Quota of a period under which a smaller one changes nothing but the number of events: requests take many periods. */
const LEAST_QUOTA = 0.1;
/** Utilisation from which runs are corrected by the exact mean without a quota. */
const CORRECTED_FROM = 0.5;

/** A table in the making. */
interface Table {
  readonly parallelisms: readonly number[];
  readonly isInOrder: boolean;
  readonly sizes: readonly number[];
  readonly numbers: Float64Array;
}

/**
 * A table: ln of the response time over the mean demand at every place of the grid, by simulation of Poisson arrivals and
 * log-normal demands under a CFS quota. All places have the same random numbers. Above half load what a queue adds is
 * multiplied by exact over simulated without a quota. Then it is made monotone: up in utilisation, down in quota share and
 * in parallelism.
 * @param isInOrder one thread a core that takes one request after the other; else requests share the cores
 */
export function buildTable(
  parallelisms: readonly number[],
  isInOrder: boolean,
  requests: readonly number[] = REQUESTS,
): Float64Array {
  const sizes = sizesOf(parallelisms);
  const numbers = new Float64Array(STATISTIC_COUNT * sizes.reduce((product, size) => product * size, 1));
  const table = { parallelisms, isInOrder, sizes, numbers };
  VARIATIONS.forEach((variation, v) => {
    const draws = requests.map((count) => drawQueue(seededRng(1), count, variation));
    parallelisms.forEach((_, m) => {
      UTILISATIONS.forEach((utilisation, u) => {
        const drawn = draws[utilisation < 0.5 ? 0 : utilisation < 0.75 ? 1 : 2];
        if (drawn !== undefined) fillRow(table, [u, m, v], drawn);
      });
    });
  });
  for (let statistic = 0; statistic < STATISTIC_COUNT; statistic += 1) monotone(table, statistic);
  return numbers;
}

/** All quota shares and periods of one utilisation, parallelism and variation; utilisation 0 comes first. */
function fillRow(table: Table, [u, m, v]: readonly [number, number, number], draws: QueueDraws): void {
  const { isInOrder, numbers, parallelisms, sizes } = table;
  const utilisation = UTILISATIONS[u] ?? 0;
  const parallelism = parallelisms[m] ?? 1;
  const free = statisticsOf({ utilisation, parallelism, quotaShare: 1, periodDemands: 1, isInOrder }, draws);
  const wait = (free[0] ?? 1) - 1;
  const exact = isInOrder
    ? meanInOrder(utilisation, VARIATIONS[v] ?? 1)
    : meanWithoutQuota(utilisation, parallelism);
  const factor = utilisation >= CORRECTED_FROM && wait > 0.01 ? (exact - 1) / wait : 1;
  QUOTA_SHARES.forEach((quotaShare, q) => {
    PERIOD_DEMANDS.forEach((period, p) => {
      // Under a tenth of the cores in use the quota is all that counts, and the curve is read at fewer cores.
      const isRead = quotaShare >= 0.1 || m === 0;
      const periodDemands = Math.max(period, LEAST_QUOTA / (quotaShare * parallelism));
      const model = { utilisation, parallelism, quotaShare, periodDemands, isInOrder };
      const found = quotaShare === 1 ? free : isRead ? statisticsOf(model, draws) : undefined;
      for (let statistic = 0; statistic < STATISTIC_COUNT; statistic += 1) {
        const least = Math.exp(numbers[placeOf(sizes, [0, q, p, v, m]) * STATISTIC_COUNT + statistic] ?? 0);
        const here = found?.[statistic] ?? 0;
        const value = u === 0 || statistic === CHANCE ? here : least + (here - least) * factor;
        numbers[placeOf(sizes, [u, q, p, v, m]) * STATISTIC_COUNT + statistic] =
          found === undefined ? NaN : Math.log(value);
      }
    });
  });
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
  const out = new Float64Array(STATISTIC_COUNT);
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

/** Half-way between the least monotone table above the numbers and the greatest below them; places never read get a neighbour's. */
function monotone({ numbers, sizes }: Table, statistic: number): void {
  const above = numbers.filter((_, i) => i % STATISTIC_COUNT === statistic);
  visit(sizes, (at, place) => {
    if (Number.isNaN(above[place])) above[place] = above[placeOf(sizes, at.with(4, 0))] ?? 0;
  });
  const below = above.slice();
  if (statistic !== CHANCE) {
    for (const [axis, direction] of [
      [0, 1],
      [1, -1],
      [4, -1],
    ] as const) {
      sweep(above, sizes, axis, direction);
      sweep(below, sizes, axis, -direction);
    }
  }
  above.forEach((value, place) => {
    numbers[place * STATISTIC_COUNT + statistic] = (value + (below[place] ?? 0)) / 2;
  });
}

/**
 * Along one axis every value becomes no less than the one before it (`direction` against the order of values: no more).
 * @param direction +1 from the first point, values rise; −1 from the last
 */
function sweep(values: Float64Array, sizes: readonly number[], axis: number, direction: number): void {
  const rises = axis === 0 ? direction > 0 : direction < 0;
  const size = sizes[axis] ?? 1;
  for (let step = 1; step < size; step += 1) {
    const here = direction > 0 ? step : size - 1 - step;
    visit(sizes, (at, place) => {
      if (at[axis] !== here) return;
      const before = values[placeOf(sizes, at.with(axis, here - direction))] ?? 0;
      const value = values[place] ?? 0;
      values[place] = rises ? Math.max(value, before) : Math.min(value, before);
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
