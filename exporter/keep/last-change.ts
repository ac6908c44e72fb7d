import { SIZES } from "@tradewind/core/contract/recommendation.ts";
import type { SizeChange, SizeChanges } from "@tradewind/core/contract/recommendation.ts";
import { formatCores, formatMemory } from "@tradewind/kubernetes/objects/quantity.ts";

/** The newest decision that changed a size of a service, in words. */
export interface LastChange extends Pick<
  SizeChange,
  "decidedAtMs" | "decisionId" | "policy" | "reason" | "reasons"
> {
  /** `replicas 2 → 4, CPU 160m → 280m` */
  readonly what: string;
}

const NAMES = { replicas: "replicas", cpuCores: "CPU", memoryBytes: "memory" } as const;
const FORMATS = { replicas: String, cpuCores: formatCores, memoryBytes: formatMemory } as const;

/** Undefined where every size is still what it was when Tradewind first saw the service. */
export function lastChange(setBy: SizeChanges = {}): LastChange | undefined {
  const changed = SIZES.flatMap((size) => {
    const change = setBy[size];
    return change?.from === undefined ? [] : [{ size, change, from: change.from }];
  });
  const newestMs = Math.max(...changed.map(({ change }) => change.decidedAtMs));
  const newest = changed.filter(({ change }) => change.decidedAtMs === newestMs);
  const [first] = newest;
  if (first === undefined) return undefined;
  const { decidedAtMs, decisionId, policy, reason, reasons } = first.change;
  const what = newest
    .map(({ change, from, size }) => `${NAMES[size]} ${FORMATS[size](from)} → ${FORMATS[size](change.to)}`)
    .join(", ");
  return { what, decidedAtMs, decisionId, policy, reason, reasons };
}
