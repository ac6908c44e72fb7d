import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { Accuracy } from "../models/residual/accuracy.ts";
import { MOSTLY_TRAINED } from "../models/residual/standing.ts";

const SERVICE_LABELS = ["namespace", "service"] as const;
const TRAINING_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80];

/** What became of a training. */
export type TrainingResult = "trained" | "too-few-rows" | "failed";

export interface ProfileStanding {
  /** Windows since the last deploy that say something of the profile. */
  readonly rows: number;
  /** Of what decides, over the last of them; absent before the first. */
  readonly accuracy?: Accuracy;
  /** In use; absent without one. */
  readonly residual?: { readonly version: number; readonly weight: number };
}

/**
 * The predictor's metrics on what it learns. Set when things happen; labels are the services that have a workload.
 */
export class LearningMetrics {
  private readonly error: Gauge;
  private readonly bias: Gauge;
  private readonly coverage: Gauge;
  private readonly version: Gauge;
  private readonly weight: Gauge;
  private readonly rows: Gauge;
  private readonly maturity: Gauge;
  private readonly seconds: Histogram;
  private readonly results: Counter;
  private readonly failures: Counter;
  private readonly unusable: Counter;
  private readonly tailError: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    const gauge = (name: string, help: string, labelNames: readonly string[] = SERVICE_LABELS): Gauge =>
      new Gauge({ name: `tradewind_predictor_${name}`, help, labelNames, registers });
    const counter = (name: string, help: string, labelNames: readonly string[] = []): Counter =>
      new Counter({ name: `tradewind_predictor_${name}`, help, labelNames, registers });
    this.error = gauge(
      "profile_error_ratio",
      "Mean |ln(measured / predicted)| of the self-time percentile over the last windows, by the profile before each, with its residual where one is in use.",
    );
    this.bias = gauge(
      "profile_bias_ratio",
      "Mean ln(measured / predicted) over the same windows: above 0 where more time was taken than was predicted.",
    );
    this.coverage = gauge(
      "profile_coverage_ratio",
      "Share of the same windows within the interval that should hold 0.8 of them.",
    );
    this.version = gauge("profile_version", "Version of the trained residual in use, 0 without one.");
    this.weight = gauge(
      "profile_weight_ratio",
      "How much of the trained residual is used: as much as later windows bear out, from 0 to 1.",
    );
    this.rows = gauge("profile_rows", "Windows since the last deploy that a residual can be learnt from.");
    this.maturity = gauge(
      "profile_maturity",
      "What is known of the self time: 0 nothing, 1 the tracked profile, 2 the tracked profile with a trained residual of which half or more is used.",
    );
    this.seconds = new Histogram({
      name: "tradewind_predictor_training_duration_seconds",
      help: "Time of one training of one service's residual, waiting for the thread included.",
      buckets: TRAINING_SECONDS,
      registers,
    });
    this.results = counter(
      "trainings_total",
      "Trainings of services' residuals that ended, by what became of them.",
      ["result"],
    );
    this.failures = counter("training_failures_total", "Trainings that failed; what is in use goes on.");
    this.unusable = counter(
      "models_unusable_total",
      "Models that could not be read; services go on with their tracked profile.",
    );
    this.tailError = gauge(
      "tail_prediction_error_ratio",
      "|predicted - measured| / measured of the slowest flow's tail, one window after the plan that predicted it.",
      [],
    );
    this.tailError.remove();
  }

  profiles(namespace: string, standings: ReadonlyMap<string, ProfileStanding>): void {
    const { bias, coverage, error } = this;
    for (const gauge of [error, bias, coverage, this.version, this.weight, this.rows, this.maturity])
      gauge.reset();
    for (const [service, { accuracy, residual, rows }] of standings) {
      const { version = 0, weight = 0 } = residual ?? {};
      const labels = { namespace, service };
      if (accuracy !== undefined) {
        error.set(labels, accuracy.error);
        bias.set(labels, accuracy.bias);
        coverage.set(labels, accuracy.coverage);
      }
      this.version.set(labels, version);
      this.weight.set(labels, weight);
      this.rows.set(labels, rows);
      this.maturity.set(labels, weight >= MOSTLY_TRAINED ? 2 : rows > 0 ? 1 : 0);
    }
  }

  trained(result: TrainingResult, seconds: number): void {
    this.results.inc({ result });
    this.seconds.observe(seconds);
    if (result === "failed") this.failures.inc();
  }

  modelUnusable(): void {
    this.unusable.inc();
  }

  /** @param ratio undefined when there was nothing to compare with */
  tailPredicted(ratio: number | undefined): void {
    if (ratio === undefined) this.tailError.remove();
    else this.tailError.set(ratio);
  }
}
