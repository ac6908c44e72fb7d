import type { Application } from "@tradewind/core/contract/application.ts";
import type { Calendar, CalendarLimit } from "@tradewind/core/contract/calendar.ts";
import type { Wish } from "@tradewind/core/contract/plan.ts";
import { calendarTimes } from "@tradewind/kubernetes/application/calendar-times.ts";
import type { PlanHeader } from "../decide.ts";

/** How long a start takes while none was measured: what predictors begin with. */
const START_SECONDS = 75;
/** Polls of KEDA and of the HPA, and a window until the plan comes, lie between a decision and the first start. */
const EARLIER_SECONDS = 60;

/** Calendars of an application with the services they are for; undefined: all. */
type CalendarServices = readonly {
  readonly calendar: Calendar;
  readonly services: ReadonlySet<string> | undefined;
}[];

/**
 * Gives what calendars ask of a service at the time of a plan. Floors count early enough for replicas to be ready when the window
 * begins: by the start that the predictor measured, and a minute.
 * @param application finds an application by its namespace and name
 */
export function calendarsBy(
  application: (namespace: string, name: string) => Application | undefined,
): (plan: PlanHeader, wish: Wish) => CalendarLimit[] {
  const chosenOf = new WeakMap<Application, CalendarServices>();
  return ({ application: name, plannedAtMs }, wish) => {
    const { evidence, namespace, service } = wish;
    const own = application(namespace, name);
    if (own === undefined || own.calendars.length === 0) return [];
    if (own.name !== name || own.namespace !== namespace) return [];
    const chosen = chosenOf.get(own) ?? own.calendars.map(withServices);
    chosenOf.set(own, chosen);
    const { startSeconds = START_SECONDS } = evidence;
    const earlyMs = 1e3 * (startSeconds + EARLIER_SECONDS);
    return chosen.flatMap(({ calendar, services }) =>
      services?.has(service) === false ? [] : limitOf(calendar, wish, { nowMs: plannedAtMs, earlyMs }),
    );
  };
}

const withServices = (calendar: Calendar): CalendarServices[number] => ({
  calendar,
  services: calendar.services && new Set(calendar.services),
});

function limitOf(
  calendar: Calendar,
  wish: Wish,
  { earlyMs, nowMs }: { readonly nowMs: number; readonly earlyMs: number },
): CalendarLimit[] {
  const { ceiling, floor, name } = calendar;
  const window = calendarTimes(calendar).windowAt(nowMs);
  if (window === undefined) return [];
  const { fromMs, untilMs } = window;
  const floorReplicas = floor && nowMs >= fromMs - earlyMs ? floorOf(floor, wish) : undefined;
  const hasCeiling = ceiling !== undefined && nowMs >= fromMs;
  if (floorReplicas === undefined && !hasCeiling) return [];
  return [
    {
      calendar: name,
      ...(floorReplicas !== undefined && { floorReplicas }),
      ...(hasCeiling && { ceilingReplicas: ceiling.replicas }),
      ...(hasCeiling && ceiling.soft && { soft: true }),
      fromMs,
      untilMs,
    },
  ];
}

/** 3.0000000001 replicas are 3. */
const ROUNDING = 1e-6;

/** While the usual need is not known, because CPU was not measured, what is ready stays. */
function floorOf(
  { replicas, timesUsual }: NonNullable<Calendar["floor"]>,
  { bounds, evidence, observed }: Wish,
): number | undefined {
  const { usualReplicas } = evidence;
  if (timesUsual === undefined) return replicas;
  if (usualReplicas === undefined) return observed.replicasReady;
  return Math.min(bounds.maxReplicas, Math.ceil(timesUsual * usualReplicas - ROUNDING));
}
