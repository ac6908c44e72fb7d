import type { Clock } from "@tradewind/core/process/clock.ts";
import { Admission } from "./admission.ts";
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
 * @returns takes one body; rejects with a `Refusal` when it cannot be read
 */
export function peerIntake(
  clock: Clock,
  onSpans: OnSpans,
): (body: Uint8Array, contentType: string) => Promise<SpansTaken> {
  const admission = new Admission(PEER_LIMITS, clock);
  const intake = new SpanIntake({ clock, onSpans, limits: PEER_LIMITS, admission });
  return async (bytes, contentType) => {
    const call = admission.admit("peers");
    try {
      const encoding = contentType === PROTOBUF ? PROTOBUF : JSON_TYPE;
      const maxBytes = PEER_LIMITS.maxBodyBytes;
      return await intake.take({ bytes, isCompressed: false, maxBytes, encoding }, call);
    } finally {
      call.end();
    }
  };
}
