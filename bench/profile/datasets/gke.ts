import { median } from "@tradewind/predictor/profile/order-statistics.ts";
import { estimatePriorWeight } from "@tradewind/predictor/profile/prior-weight.ts";
import { estimateState } from "@tradewind/predictor/profile/service-state.ts";
import type { Observation, ServiceState } from "@tradewind/predictor/profile/service-state.ts";
import { FOLDS } from "@tradewind/predictor/training/rows.ts";
import type { TrainingRow } from "@tradewind/predictor/training/rows.ts";
import { numberIn, readCsv } from "../csv.ts";
import type { Dataset } from "../dataset.ts";

/** One row of the sweep with what its neighbours in time say of it. */
interface SweepPoint {
  readonly atMs: number;
  readonly namespace: string;
  readonly day: "first" | "second";
  readonly replicas: number;
  readonly load: number;
  readonly p95Seconds: number;
  readonly cpuFraction: number;
  /** Number of the level (run of equal replicas) within the namespace. */
  readonly level: number;
  readonly inTransition: boolean;
  /** Load averaged over the two minutes that the CPU reading covers; NaN where these reach into another level. */
  readonly alignedLoad: number;
}

const MINUTE_MS = 60_000;
/** CPU is a rate over two minutes, load and latency over one. */
const CPU_WINDOW_MS = 2 * MINUTE_MS;

interface RawPoint {
  readonly atMs: number;
  readonly replicas: number;
  readonly load: number;
  readonly p95Seconds: number;
  readonly cpuFraction: number;
}

function rawByNamespace(): Map<string, RawPoint[]> {
  const groups = new Map<string, RawPoint[]>();
  for (const row of readCsv("profile", "boutique-gke", "sweep.csv.gz")) {
    const namespace = row["namespace"] ?? "";
    const points = groups.get(namespace) ?? [];
    groups.set(namespace, points);
    points.push({
      atMs: Date.parse(`${row["time_iso"] ?? ""}Z`),
      replicas: numberIn(row, "replicas"),
      load: numberIn(row, "rps_per_replica"),
      p95Seconds: numberIn(row, "p95_ms") / 1e3,
      cpuFraction: numberIn(row, "cpu_fraction_of_request"),
    });
  }
  for (const points of groups.values()) points.sort((a, b) => a.atMs - b.atMs);
  return groups;
}

/** The offered load fell by more than a tenth within the minute that the latency covers. */
function isFalling(points: readonly RawPoint[], index: number): boolean {
  const now = points[index];
  if (now === undefined) return false;
  const total = now.load * now.replicas;
  for (let i = index - 1; i >= 0; i -= 1) {
    const then = points[i];
    if (then === undefined || now.atMs - then.atMs > MINUTE_MS) return false;
    if (then.load * then.replicas > 1.1 * total + 60) return true;
  }
  return false;
}

function annotated(namespace: string, points: readonly RawPoint[]): SweepPoint[] {
  let level = 0;
  let levelStartMs = Number.NEGATIVE_INFINITY;
  const out: SweepPoint[] = [];
  for (const [i, point] of points.entries()) {
    const before = points[i - 1];
    if (
      before !== undefined &&
      (before.replicas !== point.replicas || point.atMs - before.atMs > CPU_WINDOW_MS)
    ) {
      level += 1;
      levelStartMs = point.atMs;
    }
    const minuteAgo = points.findLast(
      ({ atMs }) => atMs <= point.atMs - MINUTE_MS && atMs > point.atMs - 1.4 * MINUTE_MS,
    );
    out.push({
      ...point,
      namespace,
      day: new Date(point.atMs).getUTCDate() === 14 ? "first" : "second",
      level,
      inTransition: point.atMs - levelStartMs <= CPU_WINDOW_MS || isFalling(points, i),
      alignedLoad: minuteAgo?.replicas === point.replicas ? (point.load + minuteAgo.load) / 2 : Number.NaN,
    });
  }
  return out;
}

const observationOf = (point: SweepPoint): Observation => ({
  atMs: point.atMs,
  cpuCores: 1,
  cpuUsageCores: point.cpuFraction,
  loadPerContainer: point.alignedLoad,
  latencySeconds: point.p95Seconds,
});

/** Which measurements a prediction may know of. */
type Knowledge =
  /** The level so far, latency only when more than a minute old: the pods are known, the load ahead is not. */
  | "level"
  /** The level before alone: neither the pods nor the load are known. */
  | "before";

function stateAt(
  points: readonly SweepPoint[],
  point: SweepPoint,
  knowledge: Knowledge,
  weight: number,
): ServiceState | undefined {
  const level = knowledge === "level" ? point.level : point.level - 1;
  const known = points.filter(
    (each) =>
      each.level === level &&
      !each.inTransition &&
      each.alignedLoad > 0 &&
      each.atMs < point.atMs - MINUTE_MS,
  );
  return estimateState(known.map(observationOf), weight);
}

function rowOf(point: SweepPoint, state: ServiceState | undefined): TrainingRow {
  const absent = Number.NaN;
  return {
    atMs: point.atMs,
    input: Float64Array.of(
      1,
      absent,
      point.load,
      absent,
      absent,
      absent,
      absent,
      state?.cpuSecondsPerRequest ?? absent,
      state?.baseSeconds ?? absent,
    ),
    latencySeconds: point.p95Seconds,
  };
}

const SPLITS = {
  day: (point: SweepPoint): boolean => point.day === "second",
  replicas: ({ replicas }: SweepPoint): boolean => [2, 5, 9, 13].includes(replicas),
};

const NOTES =
  "productcatalogservice, seven copies as one service; left out: rows within two minutes after a change of replicas and " +
  "rows whose load fell by a tenth within the minute that the latency covers; CPU in units of the request; " +
  "92 % of p95 lie in one histogram bucket, so the calm rows judge little. ";
const KNOWLEDGE_NOTES: Record<Knowledge, string> = {
  level:
    "CPU per request and calm latency as measured earlier on the same replica level, more than a minute before",
  before:
    "CPU per request and calm latency as measured on the level before: nothing of the present pods is known",
};

/** The sweep of one service on GKE; test on the second day, or on replica counts 2, 5, 9 and 13. */
export function gkeDatasets(): Dataset[] {
  const groups = [...rawByNamespace()].map(([namespace, points]) => annotated(namespace, points));
  const all = groups.flat();
  const steady = all.filter(({ inTransition }) => !inTransition);
  const middleLoad = median(steady.map(({ load }) => load));
  const calmSeconds = median(
    steady.filter(({ load }) => load <= middleLoad).map(({ p95Seconds }) => p95Seconds),
  );
  const datasets: Dataset[] = [];
  for (const knowledge of ["level", "before"] as const) {
    for (const [split, isTest] of Object.entries(SPLITS)) {
      const seen = steady.filter((point) => !isTest(point) && point.alignedLoad > 0);
      const priorWeight = estimatePriorWeight(seen.map(observationOf));
      const rowsOf = (keep: (point: SweepPoint, copy: number) => boolean): TrainingRow[] =>
        groups
          .flatMap((points, copy) =>
            points
              .filter((point) => !point.inTransition && keep(point, copy))
              .map((point) => rowOf(point, stateAt(points, point, knowledge, priorWeight))),
          )
          .sort((a, b) => a.atMs - b.atMs);
      datasets.push({
        name: "boutique-gke",
        split: knowledge === "level" ? split : `${split}-ahead`,
        notes: NOTES + KNOWLEDGE_NOTES[knowledge],
        inTime: true,
        alsoAboveSeconds: 0.005,
        services: [
          {
            service: "productcatalogservice",
            priorWeight,
            // Copy and level stay together.
            folds: Array.from({ length: FOLDS }, (_, fold) =>
              rowsOf((point, copy) => !isTest(point) && (copy * 3 + point.level) % FOLDS === fold),
            ),
            test: rowsOf((point) => isTest(point)),
            calmSeconds,
          },
        ],
      });
    }
  }
  return datasets;
}

/** All rows with the two columns that the data's own reference figures used, to check the boosted trees against them. */
export function gkeReference(): { split: string; train: SweepReference[]; test: SweepReference[] }[] {
  const all = [...rawByNamespace()].flatMap(([namespace, points]) => annotated(namespace, points));
  return Object.entries(SPLITS).map(([split, isTest]) => {
    const rows = (wanted: boolean): SweepReference[] =>
      all
        .filter((point) => isTest(point) === wanted)
        .map(({ load, replicas, p95Seconds }) => ({ columns: [load, replicas], p95Seconds }));
    return { split, train: rows(false), test: rows(true) };
  });
}

export interface SweepReference {
  readonly columns: readonly number[];
  readonly p95Seconds: number;
}
