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
  return ({ application: name, plannedAtMs }, { evidence, namespace, service }) => {
    const own = application(namespace, name);
    if (own === undefined || own.calendars.length === 0) return [];
    if (own.name !== name || own.namespace !== namespace) return [];
    const chosen = chosenOf.get(own) ?? own.calendars.map(withServices);
    chosenOf.set(own, chosen);
    const { startSeconds = START_SECONDS } = evidence;
    const earlyMs = 1e3 * (startSeconds + EARLIER_SECONDS);
    return chosen.flatMap(({ calendar, services }) =>
      services?.has(service) === false ? [] : limitOf(calendar, plannedAtMs, earlyMs),
    );
  };
}

const withServices = (calendar: Calendar): CalendarServices[number] => ({
  calendar,
  services: calendar.services && new Set(calendar.services),
});

function limitOf(calendar: Calendar, nowMs: number, earlyMs: number): CalendarLimit[] {
  const { ceiling, floor, name } = calendar;
  const window = calendarTimes(calendar).windowAt(nowMs);
  if (window === undefined) return [];
  const { fromMs, untilMs } = window;
  const hasFloor = floor !== undefined && nowMs >= fromMs - earlyMs;
  const hasCeiling = ceiling !== undefined && nowMs >= fromMs;
  if (!hasFloor && !hasCeiling) return [];
  return [
    {
      calendar: name,
      ...(hasFloor && { floorReplicas: floor.replicas }),
      ...(hasCeiling && { ceilingReplicas: ceiling.replicas }),
      ...(hasCeiling && ceiling.soft && { soft: true }),
      fromMs,
      untilMs,
    },
  ];
}
