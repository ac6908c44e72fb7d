import type { Window } from "@tradewind/core/contract/window.ts";
import type { ServiceState } from "./service-state.ts";
import { observationOf } from "./window-inputs.ts";

/** Calls that weigh as much as all windows before: with fewer, background work may pass for the cost of a request. */
const WINDOW_CALLS = 20;

/** From this share of its CPU on a container is held back, and its use says no more what its requests would take. */
const FULLY_USED = 0.97;

/** Use of CPU that differs more than this from that of the windows before is not believed. */
const LARGEST_FACTOR = 4;

/**
 * State of a service as this window shows it: what the windows before say, with the CPU seconds that a request takes now
 * (utilisation law). Interference and a changed mix of requests make a request dearer within one window, and how near
 * the service is to saturation decides what a step buys; a median over many windows would tell minutes later.
 *
 * A window whose containers used all of their CPU can only raise the estimate.
 * @param before from the windows before this one
 */
export function presentState(before: ServiceState, window: Window): ServiceState {
  const seen = observationOf(window, 0.95);
  const now = seen === undefined ? Number.NaN : seen.cpuUsageCores / seen.loadPerContainer;
  if (seen === undefined || !(now > 0) || !Number.isFinite(now)) return before;
  const calls = window.ownLatency?.count ?? 0;
  const trust = calls / (calls + WINDOW_CALLS);
  const change = Math.log(now / before.cpuSecondsPerRequest);
  const most = Math.log(LARGEST_FACTOR);
  const held = Math.max(-most, Math.min(most, change));
  const isFull = seen.cpuUsageCores > FULLY_USED * seen.cpuCores;
  const factor = Math.exp(trust * (isFull ? Math.max(0, held) : held));
  return { ...before, cpuSecondsPerRequest: before.cpuSecondsPerRequest * factor };
}
