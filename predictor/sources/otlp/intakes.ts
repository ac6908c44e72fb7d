import { systemClock } from "@tradewind/core/process/clock.ts";
import { MetricIntake } from "./pushed-metrics/metric-intake.ts";
import type { OnDurations } from "./pushed-metrics/metric-intake.ts";
import type { Admission, Call } from "./admission.ts";
import { BodyWork } from "./body-work.ts";
import type { SentBody } from "./body-work.ts";
import { METRICS_FORWARDED } from "./exchange.ts";
import type { BatchExchange } from "./exchange.ts";
import type { ReceiverLimits } from "./limits.ts";
import type { Transport } from "./metrics.ts";
import type { OtlpReceiverOptions } from "./receiver-options.ts";
import { PROTOBUF, rejectionMessage } from "./responses.ts";
import type { OtlpEncoding } from "./responses.ts";
import { SpanIntake } from "./span-intake.ts";
import type { OfferedBody } from "./span-intake.ts";

/** What OpenTelemetry sends, each by a service and a path of its own. */
export const SIGNALS = ["traces", "metrics", "logs"] as const;
export type Signal = (typeof SIGNALS)[number];

/** What was not taken of a body, and why, for its sender. */
export interface Told {
  readonly rejected: number;
  readonly message: string;
}

/** What receiving a body costs that is read no further: a second for so many bytes. */
const UNREAD_BYTES_PER_SECOND = 1e9;

/** Nothing takes them where no application is planned. */
const NO_DURATIONS: OnDurations = (points) => ({ accepted: points.length, rejected: 0, reasons: {} });

/** What one port takes, by signal. */
export class Intakes {
  readonly #options: OtlpReceiverOptions;
  readonly #transport: Transport;
  readonly #admission: Admission;
  readonly #spans: SpanIntake;
  readonly #metrics: MetricIntake;

  constructor(
    options: OtlpReceiverOptions,
    transport: Transport,
    limits: ReceiverLimits,
    admission: Admission,
  ) {
    const { clock = systemClock, onDurations = NO_DURATIONS, onSpans } = options;
    const work = new BodyWork({ clock, limits, admission });
    this.#options = options;
    this.#transport = transport;
    this.#admission = admission;
    this.#spans = new SpanIntake({ clock, onSpans, limits, work });
    this.#metrics = new MetricIntake(work, onDurations, limits);
  }

  /** @throws Refusal 400, 413, 429 or 503; then nothing of the body was taken */
  async take(signal: Signal, body: SentBody & { readonly form: OtlpEncoding }, call: Call): Promise<Told> {
    if (signal === "traces") return this.takeSpans(body, call);
    return signal === "metrics" ? this.#takeMetrics(body, call) : this.#takeLogs(body, call);
  }

  async takeSpans(body: Omit<OfferedBody, "forward">, call: Call): Promise<Told> {
    const { exchange, metrics } = this.#options;
    const forward =
      exchange && ((spans: Uint8Array) => exchange.forward({ body: spans, contentType: PROTOBUF }));
    const taken = await this.#spans.take({ ...body, forward }, call);
    metrics?.bytes(this.#transport, taken.bytes);
    metrics?.spans(taken.accepted, taken.rejected);
    return { rejected: taken.rejected, message: rejectionMessage(taken.reasons, taken.notUnderstood) };
  }

  async #takeMetrics(body: SentBody & { readonly form: OtlpEncoding }, call: Call): Promise<Told> {
    const { metrics } = this.#options;
    const taken = await this.#metrics.take(
      { ...body, forward: forwarding(this.#options.exchange, body.form) },
      call,
    );
    metrics?.bytes(this.#transport, taken.bytes);
    metrics?.durations(taken);
    return { rejected: taken.rejected, message: rejectionMessage(taken.reasons) };
  }

  /** Nothing here reads logs; a sender that was refused would complain for ever. */
  async #takeLogs({ bytes }: SentBody, call: Call): Promise<Told> {
    const nowMs = (this.#options.clock ?? systemClock).monotonicMs();
    const workSeconds = bytes.length / UNREAD_BYTES_PER_SECOND;
    this.#admission.rates.charge(call.sender, { bytes: 0, spans: 0, workSeconds }, nowMs);
    this.#options.metrics?.logs(bytes.length);
    return Promise.resolve({ rejected: 0, message: "" });
  }
}

/** Passes metrics that were taken on to the other predictors; undefined where there are none. */
function forwarding(
  exchange: BatchExchange | undefined,
  form: OtlpEncoding,
): ((body: Uint8Array) => void) | undefined {
  return exchange && ((body) => exchange.forward({ body, contentType: METRICS_FORWARDED[form] }));
}
