import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunReport } from "@tradewind/core/contract/run-report.ts";
import { shippedTrace } from "@tradewind/local/load/trace.ts";
import type { RateTrace } from "@tradewind/local/load/trace.ts";
import { phasesOf } from "@tradewind/local/load/phases.ts";
import { localPlatform } from "../stage/local-platform.ts";

/** 46 s of calm load, which are the run's first phase and nine windows, and the five minutes after the kill. */
export const SECONDS = 345;
const KILLED_AT_SECONDS = phasesOf(SECONDS)[0]?.toS ?? 0;
/** The value of the shipped trace from which it rises. */
const SURGE_FROM = 18;
/** Values of the load over a run. */
const VALUES = 150;

/** The shipped trace from its surge on, begun earlier: what comes after the kill takes as long as in a run of the usual phases. */
export function surgeAfterKill(): RateTrace {
  const shipped = shippedTrace("surge.txt");
  const calm = Math.round((VALUES * KILLED_AT_SECONDS) / SECONDS);
  const left = (shipped.length - SURGE_FROM) / (VALUES - calm);
  return Array.from({ length: VALUES }, (_, at) =>
    at < calm ? (shipped[SURGE_FROM - 1] ?? 0) : (shipped[SURGE_FROM + Math.floor((at - calm) * left)] ?? 0),
  );
}

export interface LocalOutcome {
  readonly silence: "hold" | "students";
  readonly seed: number;
  /** From the kill to the end of the run. */
  readonly requests: number;
  readonly requestsOver: number;
  readonly cores: number;
}

/**
 * One run of the local platform whose predictor is killed for good as the surge begins. Real processes.
 * @param calibration file of the work in a millisecond, which the first run measures for all
 */
export async function localRun(
  silence: LocalOutcome["silence"],
  seed: number,
  calibration: string,
): Promise<LocalOutcome> {
  const scratch = mkdtempSync(join(tmpdir(), "tradewind-students-"));
  try {
    const load = join(scratch, "load.txt");
    writeFileSync(load, surgeAfterKill().join("\n"));
    const report = await localPlatform(join(scratch, "run.json"), {
      "--for": `${SECONDS}s`,
      "--seed": seed,
      "--silence": silence,
      "--interference": "none",
      "--kill-predictor": `${Math.round(KILLED_AT_SECONDS)}s`,
      "--load": load,
      "--calibration": calibration,
    });
    return outcomeOf(report, silence);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function outcomeOf({ phases, seed }: RunReport, silence: LocalOutcome["silence"]): LocalOutcome {
  const after = phases.filter(({ fromS }) => fromS >= KILLED_AT_SECONDS - 1);
  const sum = (of: (phase: (typeof phases)[number]) => number): number =>
    after.reduce((total, each) => total + of(each), 0);
  const seconds = sum(({ fromS, toS }) => toS - fromS);
  return {
    silence,
    seed,
    requests: sum(({ requests }) => requests),
    requestsOver: Math.round(sum(({ requests, violationRatio }) => requests * (violationRatio ?? 0))),
    cores:
      sum(({ allocatedCpuCoresMean = Number.NaN, fromS, toS }) => allocatedCpuCoresMean * (toS - fromS)) /
      seconds,
  };
}
