import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { recommendationList, served } from "@tradewind/exporter/decide/recommendation-list.ts";
import { mayBeServed } from "@tradewind/exporter/keep/served-table.ts";
import type { ServedRow } from "@tradewind/exporter/keep/served-table.ts";
import { limitsBy } from "@tradewind/exporter/decide/limits/limits.ts";
import { ExporterOptions } from "@tradewind/exporter/options.ts";
import { Recommender } from "@tradewind/exporter/decide/recommender.ts";
import type { RecommenderRules } from "@tradewind/exporter/decide/recommender.ts";
import { countedOn, doubtOf, SettledSizes } from "@tradewind/exporter/controller/sizing/settled-sizes.ts";
import { readPlan } from "@tradewind/exporter/plans/read-plan.ts";
import { DecisionBook } from "@tradewind/exporter/keep/book.ts";
import type { BookEntry } from "@tradewind/exporter/keep/book-entry.ts";
import { StateKeeper } from "@tradewind/exporter/keep/keeper.ts";
import { knownOf } from "@tradewind/exporter/silence/silent-plans.ts";
import type { SilentPlans } from "@tradewind/exporter/silence/silent-plans.ts";
import { steer } from "@tradewind/exporter/controller/vpa/steer.ts";
import type { PodView } from "../../world.ts";
import type { Advice, Bounds } from "../../control/vpa/recommender.ts";

type KeeperOptions = ConstructorParameters<typeof StateKeeper>[1];

/**
 * The exporter from a plan's JSON to what it answers KEDA and VPAs: its own reading of plans, guard, book of decisions and
 * settling of sizes, with the options it has by default and no disk.
 */
export class ScalerAtWork {
  /** Simulated time, on both of its hands. */
  private readonly clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };
  private readonly recommender: Recommender;
  private readonly sizes = new SettledSizes();
  private readonly namespace: string;
  private readonly specOf: ReturnType<typeof serviceSpecs>;
  private readonly targets = new Map<string, { cpuCores?: number; memoryBytes?: number }>();
  private rows = new Map<string, ServedRow>();
  private nowMs: number;
  private rejected = 0;

  /** @param onEvent hears what goes into the audit trail */
  constructor(application: Application, startedAtMs: number, onEvent?: (event: AuditEvent) => void) {
    const { clockTolerance, limits, restartGrace, staleAfter } = ExporterOptions.parse({});
    this.nowMs = startedAtMs;
    this.namespace = application.namespace;
    this.specOf = serviceSpecs(application);
    const rules: RecommenderRules = {
      limitsOf: limitsBy(limits, () => application),
      exporterStartedAtMs: startedAtMs,
      clockToleranceMs: 1e3 * clockTolerance,
      staleAfterSeconds: staleAfter,
      restartGraceSeconds: restartGrace,
    };
    const { clock } = this;
    const log = {} as unknown as KeeperOptions["log"];
    this.recommender = new Recommender(new DecisionBook(), rules, {
      keeper: new StateKeeper(undefined, { clock, log, counter: { stateEvent: () => undefined } }),
      clock,
      ...(onEvent && {
        journal: {
          append: async (events) => {
            for (const event of events) onEvent(event);
            return true;
          },
        },
      }),
      counter: {
        guardAction: () => undefined,
        guardRefusal: () => undefined,
        wishRejected: () => {
          this.rejected += 1;
        },
      },
      serve: (rows) => {
        this.rows = new Map([...rows].map((row) => [row.service, row]));
        return Promise.resolve();
      },
    });
  }

  /** Reads a plan, decides on it and puts the decisions in force. */
  async takePlan(planText: string, nowMs: number): Promise<void> {
    this.nowMs = nowMs;
    const plan = readPlan(Buffer.from(planText, "utf8"), "the plan");
    await this.recommender.takePlan({ ...plan, madeMs: nowMs });
    this.sizes.record(recommendationList(this.recommender, { reachable: true }, this.clock), nowMs);
  }

  /**
   * Decides by itself for as long as no plan comes, as {@link SilentPlans} does; `silentSinceMs` as there.
   * @throws Error when such a decision breaks the contract, which must not pass for holding
   */
  async decideAlone(silent: SilentPlans, silentSinceMs: number, nowMs: number): Promise<void> {
    this.nowMs = nowMs;
    const { rejected } = this;
    for (const { plan } of silent.plans(
      [...knownOf(this.recommender.book.entries())],
      () => silentSinceMs,
      nowMs,
    )) {
      await this.recommender.takePlan(plan);
    }
    if (this.rejected > rejected) throw new Error("a decision without a predictor breaks the contract");
  }

  /** Id of the decision in force. */
  inForce(service: string): string | undefined {
    return [...this.recommender.book.entries()].find(
      ({ recommendation }) => recommendation.service === service,
    )?.recommendation.decisionId;
  }

  /** The decisions in force. */
  entries(): Iterable<BookEntry> {
    return this.recommender.book.entries();
  }

  /** What KEDA is answered; undefined for UNAVAILABLE. */
  replicas(service: string, nowMs: number): number | undefined {
    const decided = this.rows.get(service)?.decided;
    if (decided === undefined) return undefined;
    return mayBeServed(decided, nowMs) ? decided.replicas : undefined;
  }

  /** What the service's VPA says, as its recommender `tradewind` writes it for an application in mode `act`. */
  advice(service: string, pods: readonly PodView[], nowMs: number): Advice | undefined {
    this.nowMs = nowMs;
    const entry = this.recommender.book.get(this.namespace, service);
    if (entry === undefined) return undefined;
    const now = served(entry, this.recommender, nowMs);
    const running = pods.filter(({ phase }) => phase === "ready" || phase === "starting");
    const sizes = running.map(({ cpuRequestCores, memoryRequestBytes }) => ({
      cpuCores: cpuRequestCores,
      memoryBytes: memoryRequestBytes,
    }));
    const settled = countedOn(this.sizes.settled(now, sizes, nowMs), now);
    const act = doubtOf(now) === undefined;
    const before = this.targets.get(service) ?? {};
    const { cpu, memory } = this.specOf(service);
    const most = { cpuCores: cpu.maxCores, memoryBytes: memory.maxBytes };
    const bounds = (resource: "cpuCores" | "memoryBytes"): Bounds | undefined => {
      const wished = settled[resource];
      if (wished === undefined) return undefined;
      const requests = sizes.map((size) => size[resource]);
      return steer(Math.min(wished, most[resource]), before[resource], requests, act);
    };
    const [cpuCores, memoryBytes] = [bounds("cpuCores"), bounds("memoryBytes")];
    this.targets.set(service, {
      ...(cpuCores && { cpuCores: cpuCores.target }),
      ...(memoryBytes && { memoryBytes: memoryBytes.target }),
    });
    return { ...(cpuCores && { cpuCores }), ...(memoryBytes && { memoryBytes }) };
  }
}
