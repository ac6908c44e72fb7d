import { describe, expect, it } from "vitest";
import { Application } from "@tradewind/core/contract/application.ts";
import { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import type { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import { FlowWindow, Window } from "@tradewind/core/contract/window.ts";
import { Period } from "@tradewind/predictor/answers/report/period.ts";

const HOUR_MS = 3_600_000;
const APPLICATION = Application.parse({
  name: "hotel",
  namespace: "shop",
  entry: "frontend",
  objective: { milliseconds: 200 },
  prices: { cpuCoreHour: 1, memoryGigabyteHour: 0.5 },
});

const flow = (startMs: number, seconds: number, p95Seconds: number, overObjectiveRatio: number) => ({
  ...FlowWindow.parse({
    flow: "GET /",
    entryService: "frontend",
    requestsPerSecond: 10,
    errorRatio: 0,
    latency: { count: 10, meanSeconds: 0.1, p50Seconds: 0.1, p95Seconds, p99Seconds: 2 * p95Seconds },
    overObjectiveRatio,
    services: ["frontend"],
  }),
  startMs,
  endMs: startMs + 1e3 * seconds,
});

const ofService = (startMs: number, replicas: number): Window =>
  Window.parse({
    namespace: "shop",
    service: "frontend",
    startMs,
    endMs: startMs + HOUR_MS,
    replicasReady: replicas,
    callees: [],
    containers: [{ id: "a", cpuLimitCores: 0.5, memoryLimitBytes: 1e9 }],
  });

describe("Period", () => {
  it("counts a window in which more requests failed than may be late as missed, and the failed ones as over", () => {
    const period = new Period(APPLICATION);
    period.addFlow({ ...flow(0, 60, 0.1, 0), errorRatio: 0.1 });
    const report = PeriodReport.parse(period.report());
    expect(report).toMatchObject({ requests: 600, requestsOver: 60, missedSeconds: 60 });
  });

  it("adds up requests, time over the objective and cost of the stored windows", () => {
    const period = new Period(APPLICATION);
    period.addFlow(flow(0, 60, 0.1, 0.01));
    period.addFlow(flow(60_000, 30, 0.4, 0.5));
    period.addWindow(ofService(0, 2));
    period.addWindow(ofService(HOUR_MS, 1));
    const report = PeriodReport.parse(period.report());
    // 60 s at 10/s with 1 % over, 30 s at 10/s with half of them over.
    expect(report).toMatchObject({ requests: 900, measuredSeconds: 90, missedSeconds: 30 });
    expect(report.requestsOver).toBeCloseTo(156, 9);
    expect(report.worstLatencySeconds).toBeCloseTo(0.4, 9);
    // A replica costs 0.5 · 1 + 1 · 0.5 = 1 an hour: two for an hour, then one; two all the time would cost 4.
    expect(report).toMatchObject({ cost: 3, costAtFirstSizes: 4, cpuCoreHours: 1.5, replicaHours: 3 });
    expect(report.services).toMatchObject([{ service: "frontend", replicasLeast: 1, replicasMost: 2 }]);
    expect([report.fromMs, report.toMs]).toEqual([0, 2 * HOUR_MS]);
  });

  it("counts an interval once that is stored in two resolutions, and no route of another service", () => {
    const period = new Period(APPLICATION);
    period.addFlow(flow(0, 300, 0.1, 0));
    period.addFlow(flow(60_000, 15, 0.1, 0));
    period.addFlow({ ...flow(300_000, 15, 0.1, 0), entryService: "batch" });
    expect(period.report()).toMatchObject({ requests: 3_000, measuredSeconds: 300 });
  });

  it("reports nothing where nothing is stored", () => {
    expect(new Period(APPLICATION).report()).toBeUndefined();
  });

  const change = (minute: number, before: number, after: number, service = "frontend"): ProposedChange =>
    ({
      service,
      decidedAtMs: 60_000 * minute,
      before: { replicas: before },
      proposal: { allocation: { replicas: after }, reason: `${before} to ${after}` },
    }) as ProposedChange;

  it("counts what every window proposes again while nothing is carried out as one proposal, of when it began", () => {
    const period = new Period(APPLICATION);
    period.addWindow(ofService(0, 2));
    for (const each of [
      change(1, 2, 1),
      change(2, 2, 1),
      change(2, 2, 1, "geo"),
      change(11, 2, 1),
      change(12, 2, 3),
      change(13, 2, 1),
      change(30, 2, 1),
    ])
      period.addChange(each);
    const { decisions, newest, services } = PeriodReport.parse(period.report());
    expect([decisions, services[0]!.decisions]).toEqual([5, 4]);
    expect(newest.map(({ decidedAtMs, service }) => [service, decidedAtMs / 60_000])).toEqual([
      ["frontend", 30],
      ["frontend", 13],
      ["frontend", 12],
      ["geo", 2],
      ["frontend", 1],
    ]);
  });
});
