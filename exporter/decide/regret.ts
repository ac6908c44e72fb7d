import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import { applicationRefKey } from "@tradewind/core/contract/application-list.ts";
import type { ApplicationRef } from "@tradewind/core/contract/application-list.ts";
import type { ApplicationMode } from "@tradewind/core/contract/plan.ts";
import { APPLICATION_MODES } from "@tradewind/core/contract/plan.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { costPerHour, Prices } from "@tradewind/core/contract/prices.ts";
import { severityOf } from "@tradewind/core/contract/standing.ts";
import type { Recommendation, RegretReport } from "@tradewind/core/contract/recommendation.ts";
import { modeOf } from "./limits/mode.ts";
import type { ReadPlan } from "../plans/read-plan.ts";
import type { DecisionBook } from "../keep/book.ts";

/** One plan as far as it is judged. */
export interface Look {
  readonly application: string;
  readonly namespace: string;
  /** The predictors plan no other: it may be given another name. */
  readonly isOnly: boolean;
  readonly mode: ApplicationMode;
  readonly plannedAtMs: number;
  readonly isMissed: boolean;
  readonly prices: Prices;
  readonly recommendations: Iterable<Recommendation>;
}

/** The prices of an application of which the exporter reads nothing. */
const DEFAULT_PRICES = Prices.parse({});

/**
 * A plan and the decisions that were made of it.
 * @param configuration the application as the exporter reads it
 * @param isOnly see {@link Look.isOnly}
 */
export function lookAt(
  header: ReadPlan["header"],
  book: DecisionBook,
  configuration: Application | undefined,
  isOnly = true,
): Look {
  const { application, namespace, plannedAtMs } = header;
  return {
    application,
    namespace,
    isOnly,
    mode: modeOf(header, namespace, configuration),
    plannedAtMs,
    isMissed: (severityOf(header) ?? 0) > 1,
    prices: configuration?.prices ?? DEFAULT_PRICES,
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
  /** By key, when the plan before was made; ms. */
  private readonly lastMs = new Map<string, number>();
  private readonly sums = new Map<string, RegretReport>();

  constructor(registry: Registry) {
    const registers = [registry];
    this.cost = new Counter({
      name: "tradewind_regret_cost_total",
      help: "Price, in the application's currency, that recommendations would have saved or added while the mode was not act.",
      labelNames: ["namespace", "application", "direction"],
      registers,
    });
    this.missed = new Counter({
      name: "tradewind_regret_missed_seconds_total",
      help: "Time in which the objective was missed while more was recommended than ran and the mode was not act.",
      labelNames: ["namespace", "application"],
      registers,
    });
    this.mode = new Gauge({
      name: "tradewind_application_mode",
      help: "1 for the mode that the application is in.",
      labelNames: ["namespace", "application", "mode"],
      registers,
    });
  }

  /** Takes up a plan that is in force now. */
  look(look: Look): void {
    const { isMissed, mode, plannedAtMs, prices, recommendations } = look;
    const labels = labelsOf(look);
    const key = applicationRefKey(look);
    if (look.isOnly && !this.lastMs.has(key)) this.forgetAll();
    const bill = billOf(recommendations, prices);
    for (const each of APPLICATION_MODES) this.mode.set({ ...labels, mode: each }, Number(each === mode));
    const seconds = this.secondsSince(key, plannedAtMs);
    this.lastMs.set(key, plannedAtMs);
    const isRegretted = mode !== "act";
    const saved = (isRegretted ? seconds / 3_600 : 0) * (bill.running - bill.recommended);
    this.cost.inc({ ...labels, direction: "saved" }, Math.max(0, saved));
    this.cost.inc({ ...labels, direction: "added" }, Math.max(0, -saved));
    const missedSeconds = isRegretted && isMissed && bill.isMore ? seconds : 0;
    this.missed.inc(labels, missedSeconds);
    const sums = this.sums.get(key);
    if (!isRegretted) this.sums.delete(key);
    else
      this.sums.set(key, {
        sinceMs: sums?.sinceMs ?? plannedAtMs,
        savedCost: (sums?.savedCost ?? 0) + Math.max(0, saved),
        addedCost: (sums?.addedCost ?? 0) + Math.max(0, -saved),
        missedSeconds: (sums?.missedSeconds ?? 0) + missedSeconds,
        observedSeconds: (sums?.observedSeconds ?? 0) + (sums === undefined ? 0 : seconds),
      });
  }

  /** What was counted since the application came into a mode other than act. */
  report(of: ApplicationRef): RegretReport | undefined {
    return this.sums.get(applicationRefKey(of));
  }

  /** The time that a plan speaks of, from the plan before it. */
  private secondsSince(key: string, atMs: number): number {
    const lastMs = this.lastMs.get(key);
    if (lastMs === undefined) return 0;
    return Math.min(MOST_SECONDS, Math.max(0, (atMs - lastMs) / 1e3));
  }

  /** An application of several that is gone: its series go too. */
  forget(place: ApplicationRef): void {
    const labels = labelsOf(place);
    this.lastMs.delete(applicationRefKey(place));
    this.sums.delete(applicationRefKey(place));
    for (const mode of APPLICATION_MODES) this.mode.remove({ ...labels, mode });
    for (const direction of ["saved", "added"]) this.cost.remove({ ...labels, direction });
    this.missed.remove(labels);
  }

  private forgetAll(): void {
    this.lastMs.clear();
    this.sums.clear();
    for (const metric of [this.mode, this.cost, this.missed]) metric.reset();
  }
}

const labelsOf = ({ application, namespace }: ApplicationRef): Record<string, string> => ({
  namespace,
  application,
});
