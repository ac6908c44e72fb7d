import type { ServiceAccuracy } from "@tradewind/core/contract/accuracy.ts";
import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import { accuraciesOf } from "../decide/cost/learn/learn-levels.ts";
import type { ServiceModelMemory } from "../decide/cost/learn/state.ts";
import { isOutdone } from "../models/level/level-memory.ts";
import { isCalibrated } from "../models/queue/tracked-profile.ts";

type KnownService = Pick<ServiceModelMemory, "level" | "network" | "profile" | "service">;

const SERVICE_LABELS = ["namespace", "service"] as const;

/** How well the self time of each service is known: for people, and as metrics. Labels are the services that have a workload. */
export class ProfileAccuracy {
  private readonly namespace: string;
  private readonly error: Gauge;
  private readonly bias: Gauge;
  private readonly coverage: Gauge;
  private readonly ruleError: Gauge;
  private readonly modelError: Gauge;
  private readonly maturity: Gauge;
  private readonly tailError: Gauge;
  private last: readonly KnownService[] = [];

  constructor(registry: Registry, namespace: string) {
    this.namespace = namespace;
    const registers = [registry];
    const gauge = (name: string, help: string, labelNames: readonly string[] = SERVICE_LABELS): Gauge =>
      new Gauge({ name: `tradewind_predictor_${name}`, help, labelNames, registers });
    this.error = gauge(
      "profile_error_ratio",
      "Mean |ln(measured / expected)| of the self-time percentile over the last windows, as expected before each.",
    );
    this.bias = gauge(
      "profile_bias_ratio",
      "Mean ln(measured / expected) over the same windows: above 0 where more time was taken than was expected.",
    );
    this.coverage = gauge(
      "profile_coverage_ratio",
      "Share of the same windows within the interval that should hold 0.8 of them.",
    );
    this.modelError = gauge(
      "profile_model_error_ratio",
      "The same error of the queueing curve and the latency network together, which say what other sizes come to.",
    );
    this.ruleError = gauge(
      "profile_rule_error_ratio",
      "The same error of the best rule of one line: last value, median, kernel of the load, or line through loads.",
    );
    this.maturity = gauge(
      "profile_maturity",
      "What is known of the self time: 0 nothing, 1 the queueing profile, 2 the latency network too.",
    );
    this.tailError = gauge(
      "tail_prediction_error_ratio",
      "|predicted - measured| / measured of the slowest flow's tail, one window after the plan that predicted it.",
      [],
    );
    this.tailError.remove();
  }

  /** Takes in what is remembered of the services after a window. */
  adopt(services: readonly KnownService[]): void {
    const { bias, coverage, error, maturity, modelError, namespace, ruleError } = this;
    this.last = services;
    for (const gauge of [error, bias, coverage, modelError, ruleError, maturity]) gauge.reset();
    for (const { network, profile, service } of services) {
      const isProfiled = isCalibrated(profile);
      maturity.set({ namespace, service }, Number(isProfiled) + Number(isProfiled && network !== undefined));
    }
    for (const [service, accuracy] of accuraciesOf(services)) {
      const labels = { namespace, service };
      error.set(labels, accuracy.error);
      bias.set(labels, accuracy.bias);
      coverage.set(labels, accuracy.coverage);
      modelError.set(labels, accuracy.modelError);
      ruleError.set(labels, accuracy.ruleError);
    }
  }

  /** Of each service of which a window was expected. */
  list(): ServiceAccuracy[] {
    return [...accuraciesOf(this.last)].map(([service, accuracy]) => {
      const { coverage, error, expert, modelError, rule, ruleError, windows } = accuracy;
      const told = { service, expert, error, coverage, windows, rule, ruleError, modelError };
      return Object.assign(told, { isHeldNear: isOutdone(accuracy) });
    });
  }

  /** @param ratio undefined when there was nothing to compare with */
  tailPredicted(ratio: number | undefined): void {
    if (ratio === undefined) this.tailError.remove();
    else this.tailError.set(ratio);
  }
}
