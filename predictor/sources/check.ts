import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { EndpointError } from "@tradewind/core/net/endpoint/error.ts";
import type { EndpointHealth } from "@tradewind/core/net/endpoint/health.ts";
import type { Finding } from "./source.ts";

/** A failed look, as a finding. */
export function problem(subject: string, error: unknown, remedy = "see the message"): Finding {
  if (error instanceof EndpointError) {
    const inner = error.cause === undefined ? "" : ` [${describeError(error.cause).slice(0, 200)}]`;
    return { subject, level: "problem", message: `${error.message}${inner}`, remedy: error.remedy };
  }
  const message = error instanceof TradewindError ? error.message : describeError(error);
  return { subject, level: "problem", message, remedy };
}

/** Beyond this windows of ours and samples of theirs belong to different times. */
const SKEW_MAX_SECONDS = 5;

/** Compares the server's clock (its `Date` header, whole seconds) with ours. */
export function clockFinding(subject: string, health: EndpointHealth): Finding[] {
  const skew = health.clockSkewSeconds;
  if (skew === undefined || Math.abs(skew) <= SKEW_MAX_SECONDS) return [];
  const side = skew > 0 ? "ahead of" : "behind";
  return [
    {
      subject,
      level: "warning",
      message: `the server's clock is ${Math.abs(skew).toFixed(0)} s ${side} this machine's`,
      remedy: "run NTP on both machines; until then windows cover the wrong seconds",
    },
  ];
}
