import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { ApplicationMode } from "@tradewind/core/contract/plan.ts";
import { APPLICATION_MODES } from "@tradewind/core/contract/plan.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { costPerHour, Prices } from "@tradewind/core/contract/prices.ts";
import type { Recommendation } from "@tradewind/core/contract/recommendation.ts";
import { modeOf } from "./limits/mode.ts";
import type { ReadPlan } from "./source/read-plan.ts";
import type { DecisionBook } from "./store/book.ts";

/** One plan as far as it is judged. */
export interface Look {
  readonly application: string;
  readonly mode: ApplicationMode;
  readonly plannedAtMs: number;
  readonly isMissed: boolean;
  readonly prices: Prices;
  readonly recommendations: Iterable<Recommendation>;
}

/** The prices of an application of which the exporter reads nothing. */
const DEFAULT_PRICES = Prices.parse({});

/** A plan and the decisions that were made of it. @param own the application as the exporter reads it */
export function lookAt(header: ReadPlan["header"], book: DecisionBook, own: Application | undefined): Look {
  const { application, measuredLatencySeconds = 0, namespace, objective, plannedAtMs } = header;
  return {
    application,
    mode: modeOf(header, namespace, own),
    plannedAtMs,
    isMissed: measuredLatencySeconds > objective.seconds,
    prices: own?.prices ?? DEFAULT_PRICES,
    recommendations: [...book.entries()]
      .map(({ recommendation }) => recommendation)
      .filter((each) => each.application === application && each.namespace === namespace),
  };
}

/** Plans further apart than this were not made in between: what happened then is not counted. */
const MOST_SECONDS = 300;

/** Price per hour of what runs and of what was decided, over the services of which what runs is known. */
export interface Bill {
  readonly running: number;
  readonly recommended: number;
  /** More replicas or larger containers are recommended for a service than run. */
  readonly isMore: boolean;
}

/** Sizes that are only advised are not counted: not even mode `act` moves them. */
export function billOf(recommendations: Iterable<Recommendation>, prices: Prices): Bill {
  let [running, recommended, isMore] = [0, 0, false];
  for (const each of recommendations) {
    const { advised = [], replicas, replicasReady } = each;
    if (replicasReady === undefined) continue;
    const { runningCpuCores: cores = 0, runningMemoryBytes: bytes = 0 } = each;
    const cpuCores = (advised.includes("cpu") ? undefined : each.cpuCores) ?? cores;
    const memoryBytes = (advised.includes("memory") ? undefined : each.memoryBytes) ?? bytes;
    running += costPerHour({ cpuCores: cores, memoryBytes: bytes, replicas: replicasReady }, prices);
    recommended += costPerHour({ cpuCores, memoryBytes, replicas }, prices);
    isMore ||= replicas > replicasReady || cpuCores > cores || memoryBytes > bytes;
  }
  return { running, recommended, isMore };
}

/**
 * Keeps what Tradewind was not let do: while an application is observed or only recommended for, the price that its
 * recommendations would have saved or added, and the time in which the objective was missed while more was recommended.
 */
export class Regret {
  private readonly cost;
  private readonly missed;
  private readonly mode;
  private last: { readonly application: string; readonly atMs: number } | undefined;

  constructor(registry: Registry) {
    const registers = [registry];
    this.cost = new Counter({
      name: "tradewind_regret_cost_total",
      help: "Price, in the application's currency, that recommendations would have saved or added while the mode was not act.",
      labelNames: ["application", "direction"],
      registers,
    });
    this.missed = new Counter({
      name: "tradewind_regret_missed_seconds_total",
      help: "Time in which the objective was missed while more was recommended than ran and the mode was not act.",
      labelNames: ["application"],
      registers,
    });
    this.mode = new Gauge({
      name: "tradewind_application_mode",
      help: "1 for the mode that the application is in.",
      labelNames: ["application", "mode"],
      registers,
    });
  }

  /** Takes up a plan that is in force now. */
  look({ application, isMissed, mode, plannedAtMs, prices, recommendations }: Look): void {
    if (this.last?.application !== application) this.mode.reset();
    const bill = billOf(recommendations, prices);
    for (const each of APPLICATION_MODES) this.mode.set({ application, mode: each }, Number(each === mode));
    const seconds = this.secondsSince(application, plannedAtMs);
    this.last = { application, atMs: plannedAtMs };
    const isRegretted = mode !== "act";
    const saved = (isRegretted ? seconds / 3_600 : 0) * (bill.running - bill.recommended);
    this.cost.inc({ application, direction: "saved" }, Math.max(0, saved));
    this.cost.inc({ application, direction: "added" }, Math.max(0, -saved));
    this.missed.inc({ application }, isRegretted && isMissed && bill.isMore ? seconds : 0);
  }

  /** The time that a plan speaks of, from the plan before it. */
  private secondsSince(application: string, atMs: number): number {
    if (this.last?.application !== application) return 0;
    return Math.min(MOST_SECONDS, Math.max(0, (atMs - this.last.atMs) / 1e3));
  }
}
