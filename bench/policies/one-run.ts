import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { RunReport } from "@tradewind/core/contract/run-report.ts";
import type { PhaseReport } from "@tradewind/core/contract/run-report.ts";
import { localPlatform } from "../local-platform.ts";

export interface Order {
  readonly application: string;
  readonly policy: string;
  readonly seed: number;
  readonly seconds: number;
}

export interface RunFigures {
  readonly application: string;
  readonly policy: string;
  readonly seed: number;
  readonly requests: number;
  /** Failed ones among them. */
  readonly requestsOver: number;
  readonly secondsOver: number;
  /** Of ready replicas' CPU and memory limits, at the default prices. */
  readonly costPerHour: number;
  /** CPU limits of the ready replicas, mean over the run. */
  readonly cores: number;
  readonly memoryGigabytes: number;
  readonly starts: number;
  readonly stops: number;
  /** What a request took, at the speed the machine had. */
  readonly cpuSecondsPerRequest: number;
  /** Share of the requests over the objective, by phase; null without requests. */
  readonly overRatios: Readonly<Record<string, number | null>>;
}

const fileOf = (directory: string, { application, policy, seed }: Order): string =>
  join(directory, `${application}-${seed}-${policy.replace(":", "")}.json`);

/**
 * One run of the local platform; its report is kept in `directory` and taken from there when it is there already. What a
 * millisecond of work is, is measured once for the directory: a request is the same work in all of its runs.
 * @throws Error where the run fails, or where the report that is there is of another run
 */
export async function runOnce(order: Order, directory: string, isAgain = false): Promise<RunFigures> {
  const path = fileOf(directory, order);
  const report =
    isAgain || !existsSync(path)
      ? await localPlatform(path, flagsOf(order, join(directory, "work.json")))
      : parseJsonWith(RunReport, readFileSync(path, "utf8"), path);
  if (report.policy !== order.policy || Math.abs(report.durationS - order.seconds) > 1) {
    throw new Error(
      `${path} is of '${report.policy}' over ${report.durationS} s; '${order.policy}' over ${order.seconds} s was asked for`,
    );
  }
  return figuresOf(report);
}

const flagsOf = ({ application, policy, seconds, seed }: Order, calibration: string) => ({
  "--for": `${seconds}s`,
  "--application": application,
  "--policy": policy,
  "--seed": seed,
  "--calibration": calibration,
});

function figuresOf({ application, phases, policy, seed, totals }: RunReport): RunFigures {
  if (totals === undefined) throw new Error(`the report of ${policy}, seed ${seed}, has no totals`);
  const sum = (of: (phase: PhaseReport) => number): number =>
    phases.reduce((total, phase) => total + of(phase), 0);
  const seconds = ({ fromS, toS }: PhaseReport): number => toS - fromS;
  const meanOf = (of: (phase: PhaseReport) => number): number =>
    sum((phase) => seconds(phase) * of(phase)) / sum(seconds);
  const requests = sum((phase) => phase.requests);
  return {
    application,
    policy,
    seed,
    requests,
    requestsOver: Math.round(sum((phase) => phase.requests * (phase.violationRatio ?? 0))),
    secondsOver: totals.secondsOver,
    costPerHour: totals.costPerHour,
    cores: meanOf(({ allocatedCpuCoresMean = Number.NaN }) => allocatedCpuCoresMean),
    memoryGigabytes: meanOf(({ allocatedMemoryBytesMean = Number.NaN }) => allocatedMemoryBytesMean / 1e9),
    starts: totals.starts,
    stops: totals.stops,
    cpuSecondsPerRequest: sum((phase) => seconds(phase) * phase.cpuCoresMean) / Math.max(1, requests),
    overRatios: Object.fromEntries(phases.map(({ name, violationRatio }) => [name, violationRatio])),
  };
}
