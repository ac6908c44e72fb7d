import type { WindowSet } from "@tradewind/core/contract/window.ts";

function hasNaN(value: unknown): boolean {
  if (typeof value === "number") return Number.isNaN(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(hasNaN);
}

/** Without what is no number. A latency summary with one such field says nothing. */
function cleaned<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map((each: unknown) => cleaned(each)) as Value;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).flatMap(([key, each]: [string, unknown]) => {
    const isList = Array.isArray(each);
    return !isList && hasNaN(each) ? [] : [[key, cleaned(each)] as const];
  });
  return Object.fromEntries(entries) as Value;
}

/**
 * A window set as the predictor's sources form it: a NaN sample counts as absent, as where a metric is read from Prometheus. A
 * flow whose latency is no number is left out.
 */
export function measured(set: WindowSet): WindowSet {
  if (!hasNaN(set)) return set;
  return {
    ...set,
    windows: set.windows.map((window) => cleaned(window)),
    flows: set.flows.filter((flow) => !hasNaN(flow)),
  };
}
