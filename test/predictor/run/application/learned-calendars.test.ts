import { expect, it } from "vitest";
import type { Application } from "@tradewind/core/contract/application.ts";
import { Plan } from "@tradewind/core/contract/plan.ts";
import type { DecidingOptions } from "@tradewind/predictor/run/application/deciding.ts";
import type { PastLoad } from "@tradewind/predictor/run/application/past-load.ts";
import { emptyState } from "@tradewind/predictor/decide/state.ts";
import { application, flow, START_MS, window, windowSet } from "../../measurements.ts";
import { deciding } from "./deciding-here.ts";

const HOUR_MS = 3_600_000;

/** Ten days of 20 requests per second, and of 80 from eight to nine o'clock. */
const TEN_DAYS = Array.from({ length: 240 }, (_, hour): PastLoad => {
  const fromMs = Math.floor(START_MS / (24 * HOUR_MS)) * 24 * HOUR_MS - 240 * HOUR_MS + hour * HOUR_MS;
  const perSecond = hour % 24 === 8 ? 80 : 20;
  return { startMs: fromMs, endMs: fromMs + HOUR_MS, perSecond, countedBy: "spans" };
});

/** A service of four replicas under 20 requests per second. */
function decidingFor(own: Application) {
  const frontend = { service: "frontend", replicas: 4, rate: 20, ownSeconds: 0.02, podUsageCores: 0.4 };
  const builder = {
    build: (startMs: number) => windowSet([window(frontend, startMs)], [flow(["frontend"], 0.06)]),
    totals: () => ({ drops: {}, spansAccepted: 0 }),
    doubts: () => [],
  } as unknown as DecidingOptions["builder"];
  return deciding({ application: () => own, state: emptyState(own.name, own.namespace), builder });
}

it("a plan says what services need at the usual load of the time of day, where a calendar asks for a share of it", () => {
  const sale = { name: "sale", from: "0 0 * * *", until: "0 12 * * *", floor: { timesUsual: 1.5 } };
  const asking = decidingFor(application({ calendars: [sale] }));
  const silent = decidingFor(application());
  const evidenceOf = ({ published }: typeof asking): Record<string, number> =>
    published.plan()?.wishes[0]?.evidence ?? {};
  for (const { close } of [asking, silent]) close(0);
  const { cpuDemandCores = 0, cpuPodCapacityCores = 1 } = evidenceOf(asking);
  const now = evidenceOf(asking)["usualReplicas"] ?? Number.NaN;
  expect(now).toBeGreaterThan(cpuDemandCores / cpuPodCapacityCores);
  asking.deciding.learnPast(TEN_DAYS.map((load) => ({ ...load, perSecond: 3 * load.perSecond })));
  for (let windows = 1; windows <= 8; windows += 1) asking.close(windows);
  expect(evidenceOf(asking)["usualReplicas"]).toBeGreaterThanOrEqual(2.9 * now);
  expect(evidenceOf(silent)).not.toHaveProperty("usualReplicas");
});

it("a plan proposes calendars for peaks of the stored load of the last days, and none before they are known", () => {
  const { close, deciding: made, published } = decidingFor(application());
  close(0);
  expect(published.plan()?.learnedCalendars).toBeUndefined();
  made.learnPast(TEN_DAYS);
  for (let windows = 1; windows <= 8; windows += 1) close(windows);
  const { learnedCalendars = [] } = Plan.parse(published.plan());
  expect(learnedCalendars).toMatchObject([
    { service: "frontend", occurrences: 10, hits: 10, calendar: { from: "0 8 * * *", until: "0 9 * * *" } },
  ]);
  const [first] = learnedCalendars;
  expect(first?.calendar.floor?.replicas).toBeGreaterThanOrEqual(3 * (first?.usualReplicas ?? Number.NaN));
});
