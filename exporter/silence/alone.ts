import { setTimeout as delay } from "node:timers/promises";
import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { Lookup } from "@tradewind/core/net/addresses.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { LastingProblem } from "@tradewind/core/process/lasting-problem.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { Scope } from "../decide/plan-draft.ts";
import type { Recommender, TakenPlan } from "../decide/recommender.ts";
import type { ApplicationStatus } from "../plans/plan-sources.ts";
import { atMost, DISK_PATIENCE_MS } from "../keep/patience.ts";
import { AgentReadings } from "./agent-readings.ts";
import { AskedAgents } from "./ask-agents.ts";
import { silenceLimitMs } from "./silence.ts";
import { knownOf, SilentPlans } from "./silent-plans.ts";
import type { StudentShelf } from "./student-shelf.ts";

/** Of an application of which no plan has come since the start. s */
const UNKNOWN_WINDOW_SECONDS = 15;

/** A plan, as far as it says whose annotations count, and at what time. */
export type AnnotatedHeader = Pick<TakenPlan["header"], "application" | "namespace" | "plannedAtMs">;

export interface AloneOptions {
  readonly agents: readonly string[];
  readonly tokenFile?: string | undefined;
  readonly caFile?: string | undefined;
  readonly everyMs: number;
  readonly recommender: Recommender;
  readonly shelf: StudentShelf;
  /** How the plans of each application come. */
  readonly statuses: () => readonly ApplicationStatus[];
  /** Decides on the changes that annotations of the plan's Application name. */
  readonly takeAnnotations: (header: AnnotatedHeader) => Promise<void>;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly lookup?: Lookup | undefined;
}

/** Decides in the place of predictors that do not: looks every few seconds whether plans come, and asks the agents while none does. */
export class Alone {
  private readonly options: AloneOptions;
  private readonly agents: AskedAgents;
  private readonly readings = new AgentReadings();
  private readonly plans: SilentPlans;
  private readonly stopping = new AbortController();
  private readonly startedMs: number;
  private readonly silentApplications;
  private readonly namelessness: LastingProblem;
  private running: Promise<void> | undefined;
  private wasSilent = false;

  constructor(options: AloneOptions) {
    this.options = options;
    const { clock, log, lookup, recommender, shelf } = options;
    this.startedMs = clock.monotonicMs();
    this.namelessness = new LastingProblem(log, () => clock.monotonicMs());
    this.agents = new AskedAgents({
      targets: options.agents,
      tokenFile: options.tokenFile,
      caFile: options.caFile,
      clock,
      log,
      lookup,
    });
    this.plans = new SilentPlans({
      inForce: (namespace, service) => recommender.book.get(namespace, service)?.recommendation.decisionId,
      reading: ({ namespace, workloads }) => this.readings.reading(namespace, workloads),
      student: ({ application, namespace, service }) =>
        shelf.find(applicationKey({ namespace, name: application }), service),
    });
    this.silentApplications = new Gauge({
      name: "tradewind_silent_applications",
      help: "Applications that no predictor makes plans of now, and that the scaler therefore decides on by itself.",
      registers: [options.registry],
    });
  }

  start(): void {
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await this.agents.stop();
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    await this.agents.start();
    while (!signal.aborted) {
      await delay(this.options.everyMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.look(signal);
      } catch (error) {
        this.options.log.error({ problem: describeError(error) }, "could not decide without a predictor");
      }
    }
  }

  private async look(signal: AbortSignal): Promise<void> {
    const { clock, log, recommender, takeAnnotations } = this.options;
    const silent = this.silentStatuses();
    this.silentApplications.set(silent.length);
    const isSilent = silent.length > 0;
    if (isSilent !== this.wasSilent) {
      this.wasSilent = isSilent;
      if (isSilent) log.warn("no plans come; decides by the agents' readings and the planner's students");
      else log.info("plans come again");
    }
    if (!isSilent) return;
    await this.agents.ask(this.readings, signal);
    if (this.readings.isNameless) {
      const message =
        "no agent knows the names of its pods, so no container belongs to a service and decisions are held";
      this.namelessness.found("nameless", {}, message);
    } else this.namelessness.over();
    const limitOf = (application: string, namespace: string): number | undefined => {
      const status = silent.find(
        ({ application: several, plan }) =>
          (several === undefined && plan === undefined) ||
          (several?.name === application && several.namespace === namespace) ||
          (plan?.application === application && plan.namespace === namespace),
      );
      return status && this.limitMs(status);
    };
    const several = silent.some(({ application }) => application !== undefined);
    const made = [
      ...this.plans.plans(
        [...knownOf(recommender.book.entries())],
        ({ application, namespace }) => limitOf(application, namespace),
        clock.monotonicMs(),
      ),
    ];
    for (const { application, namespace, plan } of made) {
      const scope: Scope = several ? { namespace, name: application } : undefined;
      await atMost(DISK_PATIENCE_MS, takeAnnotations(plan.header));
      await recommender.takePlan(plan, scope);
    }
  }

  private silentStatuses(): readonly ApplicationStatus[] {
    return this.options.statuses().filter((status) => {
      // Of an application that was deleted no plan is missing.
      return status.isDeleted !== true && (status.madeMs ?? this.startedMs) < this.limitMs(status);
    });
  }

  /** Plans made before this are too old. */
  private limitMs({ answeredMs, plan }: ApplicationStatus): number {
    const windowSeconds = plan?.windowSeconds ?? UNKNOWN_WINDOW_SECONDS;
    return silenceLimitMs({ windowSeconds, answeredMs }, this.options.clock.monotonicMs());
  }
}
