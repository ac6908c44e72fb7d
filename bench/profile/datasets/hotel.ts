import { median } from "@tradewind/predictor/profile/order-statistics.ts";
import type { TrainingRow } from "@tradewind/predictor/training/rows.ts";
import { numberIn, readCsv } from "../csv.ts";
import { dealt } from "../dataset.ts";
import type { Dataset, ServiceRows } from "../dataset.ts";

/** Fits below this in-sample accuracy are left out. */
const LEAST_ACCURACY = 0.7;

/** Loads taken from a fit, as shares of its inflection point. */
const LOAD_SHARES = [0.2, 0.4, 0.6, 0.8, 0.95, 1.05, 1.2, 1.35, 1.5];

/** Largest interference of the data, to bring it to [0, 1]. */
const MOST_CPU_CORES = 2;
const MOST_MEMORY_MB = 4_000;

interface Sampled extends TrainingRow {
  readonly cpu: number;
  readonly memory: number;
}

function sample(row: Record<string, string>): Sampled[] {
  const inflection = numberIn(row, "inflection");
  const cpu = numberIn(row, "cpuInter");
  const memory = numberIn(row, "memInter");
  const absent = Number.NaN;
  return LOAD_SHARES.flatMap((share) => {
    const load = share * inflection;
    const piece = share < 1 ? "1" : "2";
    const latencySeconds = (numberIn(row, `a${piece}`) * load + numberIn(row, `b${piece}`)) / 1e6;
    if (!(latencySeconds > 1e-4)) return [];
    return [
      {
        atMs: 0,
        cpu,
        memory,
        latencySeconds,
        input: Float64Array.of(
          1,
          absent,
          load,
          cpu / MOST_CPU_CORES,
          memory / MOST_MEMORY_MB,
          absent,
          absent,
          absent,
          absent,
        ),
      },
    ];
  });
}

function serviceRows(service: string, rows: readonly Sampled[]): ServiceRows {
  const isTest = ({ cpu }: Sampled): boolean => Math.abs(cpu - 1.2) < 0.01;
  const configuration = ({ cpu, memory }: Sampled): number => Math.round(cpu / 0.4 + memory / 800);
  const middleLoad = median(rows.map(({ input }) => input[2] ?? 0));
  return {
    service,
    priorWeight: 1,
    folds: dealt(
      rows.filter((row) => !isTest(row)),
      4,
      configuration,
    ),
    test: rows.filter(isTest),
    calmSeconds: median(
      rows.filter(({ input }) => (input[2] ?? 0) <= middleLoad).map(({ latencySeconds }) => latencySeconds),
    ),
  };
}

/** Points on published piecewise-linear fits of hotel-reservation under injected CPU and memory interference. */
export function hotelDatasets(): Dataset[] {
  const groups = new Map<string, Sampled[]>();
  for (const row of readCsv("profile", "hotel-interference", "hotel-reserv", "inflection.csv.gz")) {
    if (row["success"] !== "True" || !(numberIn(row, "accy") >= LEAST_ACCURACY)) continue;
    const tag = row["tag"] ?? "";
    groups.set(tag, [...(groups.get(tag) ?? []), ...sample(row)]);
  }
  const services = [...groups]
    .map(([service, rows]) => serviceRows(service, rows))
    .filter(({ folds, test }) => folds.length > 1 && folds.flat().length >= 40 && test.length > 0);
  return [
    {
      name: "hotel-interference",
      split: "configuration",
      notes:
        `points at ${LOAD_SHARES.length} loads (0.2-1.5 of the inflection point) on published piecewise fits, not measurements; ` +
        `left out: fits with accuracy under ${LEAST_ACCURACY}, points under 0.1 ms, services with too few fits; ` +
        "tested on CPU interference of 1.2 cores, never seen; the pieces do not meet, so near the inflection the truth jumps; " +
        "no CPU per request or calm latency, so the prior has nothing to say; piecewise has the data's own form",
      inTime: false,
      services,
    },
  ];
}
