import { median } from "@tradewind/predictor/profile/order-statistics.ts";
import { estimatePriorWeight } from "@tradewind/predictor/profile/prior-weight.ts";
import { estimateState } from "@tradewind/predictor/profile/service-state.ts";
import type { Observation } from "@tradewind/predictor/profile/service-state.ts";
import { FOLDS, STATE_WINDOWS } from "@tradewind/predictor/training/rows.ts";
import type { TrainingRow } from "@tradewind/predictor/training/rows.ts";
import { numberIn, readCsv } from "../csv.ts";
import { dealt } from "../dataset.ts";
import type { Dataset, ServiceRows } from "../dataset.ts";

interface Minute {
  readonly observation: Observation;
  readonly nodeCpu: number;
  readonly nodeMemory: number;
}

const TRAIN_FROM_MS = Date.UTC(2022, 7, 22, 8, 30);
const TEST_FROM_MS = Date.UTC(2022, 7, 22, 16);

/** A zero here is a gap of the scrape, not idleness. */
const percent = (value: number): number => (value > 0 ? value / 100 : Number.NaN);

function minutesByService(): Map<string, Minute[]> {
  const groups = new Map<string, Minute[]>();
  for (const row of readCsv("profile", "online-boutique", "pod_minutes.csv.gz")) {
    const latencySeconds = numberIn(row, "srv_p95_s");
    const atMs = numberIn(row, "ts") * 1e3;
    if (!(latencySeconds > 0) || atMs < TRAIN_FROM_MS) continue;
    const service = row["svc"] ?? "";
    const minutes = groups.get(service) ?? [];
    groups.set(service, minutes);
    minutes.push({
      observation: {
        atMs,
        cpuCores: 1,
        cpuUsageCores: percent(numberIn(row, "cpu_pct")),
        loadPerContainer: numberIn(row, "ops"),
        latencySeconds,
      },
      nodeCpu: percent(numberIn(row, "node_cpu_pct")),
      nodeMemory: percent(numberIn(row, "node_mem_pct")),
    });
  }
  for (const minutes of groups.values()) minutes.sort((a, b) => a.observation.atMs - b.observation.atMs);
  return groups;
}

function serviceRows(service: string, minutes: readonly Minute[]): ServiceRows {
  const observations = minutes.map(({ observation }) => observation);
  const seen = observations.filter(({ atMs }) => atMs < TEST_FROM_MS);
  const priorWeight = estimatePriorWeight(seen);
  const rows = minutes.map(({ observation, nodeCpu, nodeMemory }, i): TrainingRow => {
    const state = estimateState(observations.slice(Math.max(0, i - STATE_WINDOWS), i), priorWeight);
    const absent = Number.NaN;
    return {
      atMs: observation.atMs,
      input: Float64Array.of(
        1,
        absent,
        observation.loadPerContainer,
        nodeCpu,
        nodeMemory,
        absent,
        absent,
        state?.cpuSecondsPerRequest ?? absent,
        state?.baseSeconds ?? absent,
      ),
      latencySeconds: observation.latencySeconds,
    };
  });
  const middleLoad = median(seen.map(({ loadPerContainer }) => loadPerContainer));
  const block = ({ atMs }: TrainingRow): number => Math.floor((atMs - TRAIN_FROM_MS) / 600_000);
  const before = rows.filter(({ atMs }) => atMs < TEST_FROM_MS);
  return {
    service,
    priorWeight,
    folds: dealt(before, FOLDS, block),
    test: rows.filter(({ atMs }) => atMs >= TEST_FROM_MS),
    calmSeconds: median(
      seen
        .filter(({ loadPerContainer }) => loadPerContainer <= middleLoad)
        .map(({ latencySeconds }) => latencySeconds),
    ),
  };
}

/** Ten services at almost constant load: whether a profile admits that there is nothing to learn. */
export function onlineBoutiqueDatasets(): Dataset[] {
  return [
    {
      name: "online-boutique",
      split: "time",
      notes:
        "trained 08:30-16:00, tested 16:00-24:00; left out: rows without p95; CPU in units of the limit; node CPU and memory " +
        "share stand for interference (they include the pod's own use); load is almost constant, the knee hardly visited: " +
        "a constant is hard to beat here",
      inTime: true,
      services: [...minutesByService()].map(([service, minutes]) => serviceRows(service, minutes)),
    },
  ];
}
