import { expect, it } from "vitest";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { Deciding } from "@tradewind/predictor/application/deciding.ts";
import type { DecidingOptions } from "@tradewind/predictor/application/deciding.ts";
import { NOTHING_GATHERED } from "@tradewind/predictor/application/gathering.ts";
import type { PastLoad } from "@tradewind/predictor/application/past-load.ts";
import { Published } from "@tradewind/predictor/application/published.ts";
import { PolicySettings } from "@tradewind/predictor/facts/settings.ts";
import { emptyState } from "@tradewind/predictor/policy/state.ts";
import { SpanOrigins } from "@tradewind/predictor/sources/span-origins.ts";
import { application, flow, START_MS, window, windowSet } from "../measurements.ts";

const SILENT: unknown = new Proxy({}, { get: () => () => undefined });
const HOUR_MS = 3_600_000;

it("a plan proposes calendars for peaks of the stored load of the last days, and none before they are known", () => {
  const clock = { nowMs: () => START_MS, monotonicMs: () => START_MS };
  const published = new Published(clock);
  let startMs = START_MS;
  const own = application();
  const deciding = new Deciding({
    application: () => own,
    options: { choice: "auto", settings: PolicySettings.parse({}) },
    state: emptyState(own.name, own.namespace),
    builder: {
      build: () =>
        windowSet(
          [
            window(
              { service: "frontend", replicas: 4, rate: 20, ownSeconds: 0.02, podUsageCores: 0.4 },
              startMs,
            ),
          ],
          [flow(["frontend"], 0.06)],
        ),
      totals: () => ({ drops: {}, spansAccepted: 0 }),
    } as unknown as DecidingOptions["builder"],
    origins: new SpanOrigins(),
    rates: { over: () => new Map() },
    workloads: () => undefined,
    published,
    archive: SILENT as DecidingOptions["archive"],
    metrics: SILENT as DecidingOptions["metrics"],
    clock,
    log: SILENT as DecidingOptions["log"],
    onState: () => undefined,
    onWindows: () => undefined,
  });
  const close = (): void => {
    const endMs = startMs + 15_000;
    const times = { startMs, endMs, fromMs: startMs, toMs: endMs };
    deciding.close({ ...times, era: 0, repeated: false, stoodStillMs: 0 }, NOTHING_GATHERED, []);
    startMs = endMs;
  };
  close();
  expect(published.plan()?.learnedCalendars).toBeUndefined();
  const tenDaysAgoMs = Math.floor(START_MS / (24 * HOUR_MS)) * 24 * HOUR_MS - 240 * HOUR_MS;
  deciding.learnPast(
    Array.from({ length: 240 }, (_, hour): PastLoad => {
      const fromMs = tenDaysAgoMs + hour * HOUR_MS;
      const perSecond = hour % 24 === 8 ? 80 : 20;
      return { startMs: fromMs, endMs: fromMs + HOUR_MS, perSecond, countedBy: "spans" };
    }),
  );
  for (let windows = 0; windows < 8; windows += 1) close();
  const { learnedCalendars = [] } = Plan.parse(published.plan());
  expect(learnedCalendars).toMatchObject([
    { service: "frontend", occurrences: 10, hits: 10, calendar: { from: "0 8 * * *", until: "0 9 * * *" } },
  ]);
  const [first] = learnedCalendars;
  expect(first?.calendar.floor?.replicas).toBeGreaterThanOrEqual(3 * (first?.usualReplicas ?? Number.NaN));
});
