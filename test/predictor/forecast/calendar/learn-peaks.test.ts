import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CalendarTimes } from "@tradewind/kubernetes/application/calendar-times.ts";
import { learnPeaks } from "@tradewind/predictor/forecast/calendar/learn-peaks.ts";
import { LearnedCalendars } from "@tradewind/predictor/forecast/calendar/propose-calendars.ts";
import { wishOf } from "../../../exporter/wish.ts";

const STEP_MS = 1_800_000;
/** Monday. */
const MONDAY_MS = Date.UTC(2026, 5, 1);

/** Load in half hours from a Monday on. */
function seriesOf(days: number, load: (hour: number, day: number) => number | null, extraSteps = 0) {
  const values = Array.from({ length: 48 * days + extraSteps }, (_, step) =>
    load((step % 48) / 2, Math.floor(step / 48)),
  );
  return {
    stepMs: STEP_MS,
    endMs: MONDAY_MS + values.length * STEP_MS,
    values,
    begun: { requests: 0, seconds: 0 },
  };
}
const isWorkday = (day: number): boolean => day % 7 < 5;
const morning = (hour: number): boolean => hour >= 8.5 && hour < 10.5;

describe("peaks of the load", () => {
  it("on all days are found with their time, load and hits", () => {
    expect(learnPeaks(seriesOf(10, (hour) => (morning(hour) ? 30 : 10)))).toEqual([
      {
        days: "*",
        name: "daily",
        fromSeconds: 8.5 * 3_600,
        untilSeconds: 10.5 * 3_600,
        perSecond: 30,
        usualPerSecond: 10,
        occurrences: 10,
        hits: 10,
        // Wilson: 10 / (10 + 1.2816²).
        confidence: expect.closeTo(0.859, 3) as number,
      },
    ]);
  });

  it("on working days alone are told from those of weekends", () => {
    const load = (hour: number, day: number): number =>
      isWorkday(day) ? (morning(hour) ? 30 : 10) : hour >= 20 && hour < 22 ? 25 : 10;
    expect(
      learnPeaks(seriesOf(21, load))?.map(({ days, fromSeconds, hits }) => [days, fromSeconds / 3_600, hits]),
    ).toEqual([
      ["1-5", 8.5, 15],
      ["0,6", 20, 6],
    ]);
  });

  it("are known only once there are five days of load", () => {
    const load = (hour: number): number => (morning(hour) ? 30 : 10);
    expect(learnPeaks(seriesOf(4, load))).toBeUndefined();
    expect(learnPeaks(seriesOf(5, load))).toHaveLength(1);
    expect(learnPeaks(seriesOf(9, () => null))).toBeUndefined();
  });

  it("are none where load is the same, or came on fewer than four of five days", () => {
    expect(learnPeaks(seriesOf(14, () => 10))).toEqual([]);
    expect(learnPeaks(seriesOf(15, (hour, day) => (day % 3 === 0 && morning(hour) ? 10 : 30)))).toEqual([]);
  });

  it("are none any longer after two misses in five days", () => {
    const without = (...missed: number[]) =>
      learnPeaks(
        seriesOf(20, (hour, day) => (morning(hour) && isWorkday(day) && !missed.includes(day) ? 30 : 10)),
      );
    // Thursday and Friday of the third week.
    expect(without(18)).toHaveLength(1);
    expect(without(4, 18)).toHaveLength(1);
    expect(without(17, 18)).toEqual([]);
  });

  it("never lie outside of the day, overlap on the same days, or claim more hits than days", () => {
    const loads = fc.array(fc.option(fc.integer({ min: 0, max: 60 })), { minLength: 300, maxLength: 1_008 });
    fc.assert(
      fc.property(loads, fc.nat({ max: 47 }), (values, offset) => {
        const endMs = MONDAY_MS + (values.length + offset) * STEP_MS;
        const begun = { requests: 0, seconds: 0 };
        for (const peak of learnPeaks({ stepMs: STEP_MS, endMs, values, begun }) ?? []) {
          const { confidence, fromSeconds, hits, occurrences, perSecond, untilSeconds, usualPerSecond } =
            peak;
          expect(0 <= fromSeconds && fromSeconds < untilSeconds && untilSeconds <= 86_400).toBe(true);
          expect(hits <= occurrences && confidence <= hits / occurrences + 1e-9).toBe(true);
          expect(perSecond).toBeGreaterThanOrEqual(1.5 * usualPerSecond);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe("calendars that the load speaks for", () => {
  const wish = wishOf({ evidence: { cpuDemandCores: 1, cpuPodCapacityCores: 0.5 } });
  const learnt = (load: (hour: number, day: number) => number, perSecond = 10, wishes = [wish]) =>
    new LearnedCalendars().propose({ series: seriesOf(21, load), perSecond, targetUtilisation: 0.5, wishes });

  it("keep what the service needs at the peak, at times that cron understands", () => {
    const calendars = learnt((hour, day) => (isWorkday(day) && morning(hour) ? 30 : 10));
    expect(calendars).toMatchObject([
      {
        service: "search",
        usualReplicas: 4,
        occurrences: 15,
        hits: 15,
        calendar: {
          services: ["search"],
          from: "30 8 * * 1-5",
          until: "30 10 * * 1-5",
          floor: { replicas: 12 },
        },
      },
    ]);
    const times = new CalendarTimes(calendars![0]!.calendar);
    expect(times.windowAt(MONDAY_MS)).toEqual({
      fromMs: MONDAY_MS + 8.5 * 3_600_000,
      untilMs: MONDAY_MS + 10.5 * 3_600_000,
    });
  });

  it("go no further than the maximum of the service, and end before midnight", () => {
    const [calendar] = learnt((hour) => (hour >= 22 ? 100 : 10))!;
    expect(calendar?.calendar).toMatchObject({
      from: "0 22 * * *",
      until: "59 23 * * *",
      floor: { replicas: 20 },
    });
  });

  it("are unknown without load now, and none for a service whose CPU is not known", () => {
    const peak = (hour: number): number => (morning(hour) ? 30 : 10);
    expect(learnt(peak, 0)).toBeUndefined();
    expect(learnt(peak, 10, [wishOf({ evidence: {} })])).toEqual([]);
  });
});
