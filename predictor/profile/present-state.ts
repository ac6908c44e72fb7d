import type { Window } from "@tradewind/core/contract/window.ts";
import { inflationAt } from "./cpu-inflation.ts";
import type { CpuInflation } from "./cpu-inflation.ts";
import type { Observation, ServiceState } from "./service-state.ts";
import { observationOf } from "./window-inputs.ts";

/** Calls that weigh as much as all windows before: with fewer, background work may pass for the cost of a request. */
const WINDOW_CALLS = 20;

/** From this share of its CPU on a container is held back, and its use says no more what its requests would take. */
const FULLY_USED = 0.97;

/** From this share on it may be: measured use is uncertain by a few percent, and throttling leaves slack in its periods. */
const NEARLY_USED = 0.9;

/** Use of CPU that differs more than this from that of the windows before is not believed. */
const LARGEST_FACTOR = 4;

/**
 * State of a service as this window shows it: what the windows before say, with the CPU seconds that a request takes now
 * (utilisation law). Interference and a changed mix of requests make a request dearer within one window, and how near
 * the service is to saturation decides what a step buys; a median over many windows would tell minutes later.
 *
 * A window whose containers used all of their CPU, or nearly all where more was to be expected, can only raise the
 * estimate. What interference adds cannot be seen there: it is what other windows taught.
 * @param before from the windows before this one, at the reference of `inflation` where that is given
 * @param inflation how interference inflates this service's CPU seconds, where that is known
 */
export function presentState(before: ServiceState, window: Window, inflation?: CpuInflation): ServiceState {
  const seen = observationOf(window, 0.95);
  return seen === undefined ? before : observedState(before, seen, window.ownLatency?.count ?? 0, inflation);
}

/** The same from what was observed in a window. @param calls that its latency was measured on */
export function observedState(
  before: ServiceState,
  seen: Observation,
  calls: number,
  inflation?: CpuInflation,
): ServiceState {
  const now = seen.cpuUsageCores / seen.loadPerContainer;
  if (!(now > 0) || !Number.isFinite(now)) return before;
  const trust = calls / (calls + WINDOW_CALLS);
  const { interference } = seen;
  const inflated =
    inflation === undefined || interference === undefined ? 1 : inflationAt(inflation, interference);
  const expected = before.cpuSecondsPerRequest * inflated;
  const change = Math.log(now / expected);
  const most = Math.log(LARGEST_FACTOR);
  const held = Math.max(-most, Math.min(most, change));
  const used = seen.cpuUsageCores / seen.cpuCores;
  const isFull =
    used > FULLY_USED || (used > NEARLY_USED && expected * seen.loadPerContainer > seen.cpuCores);
  const factor = Math.exp(trust * (isFull ? Math.max(0, held) : held));
  return { ...before, cpuSecondsPerRequest: expected * factor };
}
