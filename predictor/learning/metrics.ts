import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";
import type { ServiceEvidence } from "../policy/evidence.ts";

const SERVICE_LABELS = ["namespace", "service"] as const;
const TRAINING_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80];

/** What became of a training. */
export type TrainingResult = "replaced" | "kept" | "too-few-rows" | "failed";

export interface ProfileStanding {
  readonly evidence: ServiceEvidence;
  /** Usable windows known of. */
  readonly rows: number;
}

/** The predictor's metrics on latency profiles. Set when things happen; labels are the services that have a workload. */
export class LearningMetrics {
  private readonly error: Gauge;
  private readonly version: Gauge;
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
      "Mean |predicted - measured| / measured of the own tail latency over the last windows, of the profile in use.",
    );
    this.version = gauge("profile_version", "Version of the trained model in use, 0 without one.");
    this.rows = gauge("profile_rows", "Windows known that a profile can be learnt from.");
    this.maturity = gauge(
      "profile_maturity",
      "What is known of the own tail latency: 0 nothing, 1 the queueing prior, 2 a trained profile.",
    );
    this.seconds = new Histogram({
      name: "tradewind_predictor_training_duration_seconds",
      help: "Time of one training of one service's profile, waiting for the thread included.",
      buckets: TRAINING_SECONDS,
      registers,
    });
    this.results = counter("trainings_total", "Trainings that ended, by what became of them.", ["result"]);
    this.failures = counter("training_failures_total", "Trainings that failed; the profiles in use go on.");
    this.unusable = counter(
      "models_unusable_total",
      "Stored models that could not be read; their services go on with the queueing prior.",
    );
    this.tailError = gauge(
      "tail_prediction_error_ratio",
      "|predicted - measured| / measured of the slowest flow's tail, one window after the plan that predicted it.",
      [],
    );
    this.tailError.remove();
  }

  profiles(namespace: string, standings: ReadonlyMap<string, ProfileStanding>): void {
    for (const gauge of [this.error, this.version, this.rows, this.maturity]) gauge.reset();
    for (const [service, { evidence, rows }] of standings) {
      const labels = { namespace, service };
      const { prior, trained } = evidence;
      const errors = trained?.errors ?? prior?.errors;
      if (errors !== undefined) this.error.set(labels, errors.meanAbsoluteRatio);
      this.version.set(labels, trained?.version ?? 0);
      this.rows.set(labels, rows);
      this.maturity.set(labels, trained !== undefined ? 2 : prior !== undefined ? 1 : 0);
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
