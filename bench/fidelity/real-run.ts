import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunReport } from "@tradewind/core/contract/run-report.ts";
import { HISTORY_FILE } from "@tradewind/predictor/store/history-file.ts";
import { openHistory } from "@tradewind/predictor/store/read-history.ts";
import { localPlatform } from "../stage/local-platform.ts";

/** Latencies and throughput of all requests of a run. */
export interface Figures {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** Requests answered per second. */
  readonly throughput: number;
}

export interface RealRun {
  readonly figures: Figures;
  readonly requestsOver: number;
  /** Cores that the replicas were limited to, mean over the run. */
  readonly cores: number;
  /** By service, where windows had both. */
  readonly use: MeasuredUse;
}

/** Means over the windows of a run, by service. */
export type MeasuredUse = ReadonlyMap<string, { readonly cpuCores: number; readonly perSecond: number }>;

export interface RealSetting {
  readonly application: string;
  readonly policy: string;
  readonly seconds: number;
  readonly seed: number;
  /** Requests per second all the time; absent: the application's own trace. */
  readonly requestsPerSecond?: number;
}

/** Runs the local platform once. @param scratch keeps what the runs share: a request is the same work in all of them */
export async function realRun(setting: RealSetting, scratch: string, name: string): Promise<RealRun> {
  const { application, policy, requestsPerSecond, seconds, seed } = setting;
  const [report, state] = [join(scratch, `${name}.json`), join(scratch, name)];
  const flags: Record<string, string | number> = {
    "--for": `${seconds}s`,
    "--policy": policy,
    "--application": application,
    "--seed": seed,
    "--state": state,
    "--interference": "none",
    "--calibration": join(scratch, "work.json"),
  };
  if (requestsPerSecond !== undefined) {
    const load = join(scratch, `${name}.load`);
    writeFileSync(load, `${requestsPerSecond}\n`);
    flags["--load"] = load;
  }
  const run = await localPlatform(report, flags);
  return { ...summed(run), use: useOf(join(state, "predictor", HISTORY_FILE)) };
}

/** The phases together but for the first, in which everything starts; percentiles as the mean weighted by requests. */
function summed({ durationS, phases }: RunReport): Omit<RealRun, "use"> {
  const counted = phases.filter(({ name }) => name !== "warmup");
  const requests = counted.reduce((sum, phase) => sum + phase.requests, 0);
  const failed = counted.reduce((sum, phase) => sum + phase.failed, 0);
  const seconds = counted.reduce((sum, { fromS, toS }) => sum + Math.min(toS, durationS) - fromS, 0);
  const mean = (value: (phase: (typeof counted)[number]) => number | null | undefined): number =>
    counted.reduce((sum, phase) => sum + ((value(phase) ?? 0) * phase.requests) / requests, 0);
  const overTime = (value: (phase: (typeof counted)[number]) => number | undefined): number =>
    counted.reduce((sum, phase) => sum + ((value(phase) ?? 0) * (phase.toS - phase.fromS)) / seconds, 0);
  return {
    figures: {
      p50Ms: mean(({ p50Ms }) => p50Ms),
      p95Ms: mean(({ p95Ms }) => p95Ms),
      p99Ms: mean(({ p99Ms }) => p99Ms),
      throughput: (requests - failed) / seconds,
    },
    requestsOver: mean(({ violationRatio }) => violationRatio),
    cores: overTime(({ allocatedCpuCoresMean }) => allocatedCpuCoresMean),
  };
}

/** Windows in which processes that have just started still compile what they run. */
const WARM_UP_WINDOWS = 2;

/** CPU used and requests served, by service, from the windows that the predictor stored. */
function useOf(path: string): MeasuredUse {
  using history = openHistory(path);
  const sums = new Map<string, { seen: number; cpu: number; requests: number }>();
  for (const window of history.windows({ fromMs: 0, toMs: Number.MAX_SAFE_INTEGER })) {
    const { containers, requestsPerSecond, service } = window;
    const cpu = containers.reduce((sum, { cpuUsageCores }) => sum + (cpuUsageCores ?? Number.NaN), 0);
    if (requestsPerSecond === undefined || !(requestsPerSecond > 0) || !(cpu > 0)) continue;
    const sum = sums.get(service) ?? { seen: 0, cpu: 0, requests: 0 };
    sum.seen += 1;
    if (sum.seen > WARM_UP_WINDOWS) {
      sum.cpu += cpu;
      sum.requests += requestsPerSecond;
    }
    sums.set(service, sum);
  }
  return new Map(
    [...sums].flatMap(([service, { cpu, requests, seen }]) => {
      const windows = seen - WARM_UP_WINDOWS;
      return windows > 0 ? [[service, { cpuCores: cpu / windows, perSecond: requests / windows }]] : [];
    }),
  );
}
