import type { CalendarLimit } from "@tradewind/core/contract/calendar.ts";
import { baselineReplicas } from "./baseline.ts";
import type { GuardContext, GuardStep } from "./step.ts";

/**
 * Keeps the floors and ceilings of calendars: the highest floor, the lowest ceiling. A floor counts where a ceiling lies under it.
 * With data missing a ceiling takes nothing away from what runs; it only ends growth.
 */
export const calendar: GuardStep = {
  name: "calendar",
  apply: (allocation, context) => {
    const { calendars = [] } = context;
    const floor = calendars.reduce<CalendarLimit | undefined>(
      (best, each) => ((each.floorReplicas ?? -1) > (best?.floorReplicas ?? -1) ? each : best),
      undefined,
    );
    if (floor?.floorReplicas !== undefined && allocation.replicas < floor.floorReplicas) {
      const { calendar: name, floorReplicas: replicas, fromMs, untilMs } = floor;
      return {
        allocation: { ...allocation, replicas },
        reason: { code: "calendar-floor", calendar: name, replicas, fromMs, untilMs },
      };
    }
    const tops = calendars.flatMap((each) => top(each, context));
    const [lowest] = tops.toSorted((a, b) => a.replicas - b.replicas);
    if (lowest === undefined) return null;
    const replicas = Math.max(lowest.replicas, floor?.floorReplicas ?? 0);
    if (allocation.replicas <= replicas) return null;
    const { calendar: name, fromMs, untilMs } = lowest.of;
    return {
      allocation: { ...allocation, replicas },
      reason: { code: "calendar-ceiling", calendar: name, replicas, fromMs, untilMs },
    };
  },
};

function top(
  limit: CalendarLimit,
  context: GuardContext,
): { readonly of: CalendarLimit; readonly replicas: number }[] {
  const { ceilingReplicas, soft = false } = limit;
  if (ceilingReplicas === undefined) return [];
  const { evidence, observed } = context.wish;
  const need = soft ? Math.ceil(evidence["needReplicas"] ?? 0) : 0;
  const held = observed.complete ? 0 : (baselineReplicas(context) ?? 0);
  return [{ of: limit, replicas: Math.max(ceilingReplicas, need, held) }];
}
