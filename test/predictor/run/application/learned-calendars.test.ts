import { expect, it } from "vitest";
import { Plan } from "@tradewind/core/contract/plan.ts";
import type { DecidingOptions } from "@tradewind/predictor/run/application/deciding.ts";
import type { PastLoad } from "@tradewind/predictor/run/application/past-load.ts";
import { emptyState } from "@tradewind/predictor/decide/state.ts";
import { application, flow, START_MS, window, windowSet } from "../../measurements.ts";
import { deciding } from "./deciding-here.ts";

const HOUR_MS = 3_600_000;

it("a plan proposes calendars for peaks of the stored load of the last days, and none before they are known", () => {
  const own = application();
  const frontend = { service: "frontend", replicas: 4, rate: 20, ownSeconds: 0.02, podUsageCores: 0.4 };
  const builder = {
    build: (startMs: number) => windowSet([window(frontend, startMs)], [flow(["frontend"], 0.06)]),
    totals: () => ({ drops: {}, spansAccepted: 0 }),
    doubts: () => [],
  } as unknown as DecidingOptions["builder"];
  const {
    close,
    deciding: made,
    published,
  } = deciding({
    application: () => own,
    state: emptyState(own.name, own.namespace),
    builder,
  });
  close(0);
  expect(published.plan()?.learnedCalendars).toBeUndefined();
  const tenDaysAgoMs = Math.floor(START_MS / (24 * HOUR_MS)) * 24 * HOUR_MS - 240 * HOUR_MS;
  made.learnPast(
    Array.from({ length: 240 }, (_, hour): PastLoad => {
      const fromMs = tenDaysAgoMs + hour * HOUR_MS;
      const perSecond = hour % 24 === 8 ? 80 : 20;
      return { startMs: fromMs, endMs: fromMs + HOUR_MS, perSecond, countedBy: "spans" };
    }),
  );
  for (let windows = 1; windows <= 8; windows += 1) close(windows);
  const { learnedCalendars = [] } = Plan.parse(published.plan());
  expect(learnedCalendars).toMatchObject([
    { service: "frontend", occurrences: 10, hits: 10, calendar: { from: "0 8 * * *", until: "0 9 * * *" } },
  ]);
  const [first] = learnedCalendars;
  expect(first?.calendar.floor?.replicas).toBeGreaterThanOrEqual(3 * (first?.usualReplicas ?? Number.NaN));
});
