import type { Clock } from "@tradewind/core/process/clock.ts";
import { Admission } from "./admission.ts";
import { BodyWork } from "./body-work.ts";
import { MetricIntake } from "./pushed-metrics/metric-intake.ts";
import type { OnDurations } from "./pushed-metrics/metric-intake.ts";
import { METRICS_FORWARDED } from "./exchange.ts";
import { DEFAULT_RECEIVER_LIMITS } from "./limits.ts";
import { JSON_TYPE, PROTOBUF } from "./responses.ts";
import { SpanIntake } from "./span-intake.ts";
import type { OnSpans, SpansTaken } from "./span-intake.ts";

/** What another predictor forwards has passed the limits of its own receivers, and is that of all its clients together. */
const PEER_LIMITS = {
  ...DEFAULT_RECEIVER_LIMITS,
  maxSenderSpansPerSecond: 1e9,
  maxSenderBytesPerSecond: 1e12,
  maxSenderWork: 1e3,
};

/**
 * Takes the bodies that other predictors forward, one after the other.
 * @returns takes one body, and says what became of its spans; rejects with a `Refusal` when it cannot be read
 */
export function peerIntake(
  clock: Clock,
  onSpans: OnSpans,
  onDurations: OnDurations,
): (body: Uint8Array, contentType: string) => Promise<Partial<SpansTaken>> {
  const admission = new Admission(PEER_LIMITS, clock);
  const work = new BodyWork({ clock, limits: PEER_LIMITS, admission });
  const metrics = new MetricIntake(work, onDurations, PEER_LIMITS);
  const intake = new SpanIntake({ clock, onSpans, limits: PEER_LIMITS, work });
  return async (bytes, contentType) => {
    const call = admission.admit("peers");
    try {
      const { maxBodyBytes: maxBytes } = PEER_LIMITS;
      const body = { bytes, compression: "none", maxBytes } as const;
      for (const form of [PROTOBUF, JSON_TYPE] as const) {
        if (contentType !== METRICS_FORWARDED[form]) continue;
        await metrics.take({ ...body, form }, call);
        return {};
      }
      const form = contentType === PROTOBUF ? PROTOBUF : JSON_TYPE;
      return await intake.take({ ...body, form }, call);
    } finally {
      call.end();
    }
  };
}
