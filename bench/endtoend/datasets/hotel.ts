import { numberIn, readCsv } from "../../profile/csv.ts";
import type { Row, SplitName } from "../data.ts";

/** Rows of Hotel Reservation under the policy that changed its replicas, with the mean latency as a class. */
export interface HotelSplit {
  readonly name: SplitName;
  readonly services: readonly string[];
  readonly train: readonly Row[];
  readonly test: readonly Row[];
  /** For each test row whether the mean latency is above 70 ms. */
  readonly slow: readonly boolean[];
}

/** Below this the published mean is censored, from the other on collapsed and censored. */
const FAST_MS = 70;
const COLLAPSED_MS = 5_000;
const TEST_SHARE_IN_TIME = 0.3;
const GROUPS_LEFT_OUT = 4;

const FOLDER = ["e2e", "hotel-reservation"] as const;
const NOT_SERVICES = new Set(["time", "policy", "window_s", "requests", "avg_ms", "p99_ms", "stddev_ms"]);

interface HotelWindow {
  readonly replicas: readonly number[];
  readonly meanMs: number;
}

/** Windows of `ucbopt` with whole numbers of replicas, oldest first. @throws Error when the data are not there */
export function hotelSplits(): HotelSplit[] {
  const table = readCsv(...FOLDER, "windows.csv.gz").filter(({ policy }) => policy === "ucbopt");
  const services = Object.keys(table[0] ?? {}).filter((name) => !NOT_SERVICES.has(name));
  const windows = table
    .map((row): HotelWindow => ({
      replicas: services.map((service) => numberIn(row, service)),
      meanMs: numberIn(row, "avg_ms"),
    }))
    .filter(({ replicas, meanMs }) => replicas.every(Number.isInteger) && meanMs > 0);
  const groups = [...new Set(windows.map(({ replicas }) => replicas.join(" ")))].sort();
  const cut = Math.floor((1 - TEST_SHARE_IN_TIME) * windows.length);
  const isTest = {
    configuration: ({ replicas }: HotelWindow): boolean =>
      groups.indexOf(replicas.join(" ")) % GROUPS_LEFT_OUT === 1,
    time: (_: HotelWindow, at: number): boolean => at >= cut,
  };
  return (["configuration", "time"] as const).map((name) => {
    const test = windows.filter((window, at) => isTest[name](window, at));
    return {
      name,
      services,
      train: windows.filter((window, at) => !isTest[name](window, at)).map(rowOf),
      test: test.map(rowOf),
      slow: test.map(({ meanMs }) => meanMs > FAST_MS),
    };
  });
}

/** Replicas stand where own tails would: there is nothing else to go by. */
function rowOf({ replicas, meanMs }: HotelWindow, at: number): Row {
  return {
    atMs: at,
    ownTails: Float64Array.from(replicas, (count) => 1 / Math.max(1, count)),
    priorSeconds: 1,
    tailSeconds: Math.min(COLLAPSED_MS, Math.max(FAST_MS, meanMs)) / 1e3,
    columns: replicas,
  };
}

/** Area under the ROC curve: chance that a slow row is put above a fast one. */
export function areaUnderCurve(scores: readonly number[], slow: readonly boolean[]): number {
  let won = 0;
  let pairs = 0;
  for (const [i, isSlow] of slow.entries()) {
    if (!isSlow) continue;
    for (const [j, otherIsSlow] of slow.entries()) {
      if (otherIsSlow) continue;
      const gap = (scores[i] ?? 0) - (scores[j] ?? 0);
      won += gap > 0 ? 1 : gap === 0 ? 0.5 : 0;
      pairs += 1;
    }
  }
  return pairs === 0 ? Number.NaN : won / pairs;
}
