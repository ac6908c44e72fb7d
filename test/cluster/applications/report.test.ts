import { describe, expect, it } from "vitest";
import type { Outcome } from "./outcomes.ts";
import { entryOf, table } from "./report.ts";
import type { Run } from "./report.ts";

const JUDGED = { name: "podinfo", contender: "tradewind", objectiveSeconds: 0.05 } as const;

const answers = (count: number, latencySeconds: number, inPeak: boolean): Outcome[] =>
  Array.from({ length: count }, () => ({ latencySeconds, failed: false, inPeak }));

/** 60 calm requests of 10 ms, and 40 in the peak of which some take 200 ms. */
const run = (slow: number, podSeconds: number): Run => ({
  outcomes: [...answers(60, 0.01, false), ...answers(slow, 0.2, true), ...answers(40 - slow, 0.02, true)],
  podSeconds,
  coreSeconds: podSeconds / 20,
  pods: {
    frontend: [
      { atSeconds: 0, pods: 1 },
      { atSeconds: 52, pods: 3 },
    ],
    backend: [{ atSeconds: 0, pods: 1 }],
  },
});

describe("runs of one application under one contender", () => {
  const entry = entryOf(JUDGED, [run(4, 900), run(20, 1_100)]);

  it("are pooled: every request counts the same, and pod-seconds add up", () => {
    // 24 of 200 requests and 24 of the 80 of the peak are over; the 190th of all is among the 24.
    expect(entry).toMatchObject({
      name: "podinfo",
      contender: "tradewind",
      requests: 200,
      failed: 0,
      over: 0.12,
      p95Seconds: 0.2,
      podSeconds: 2_000,
      peak: { over: 0.3, p95Seconds: 0.2 },
    });
  });

  it("stay visible one by one, and by the range of their shares", () => {
    expect(entry.overRange).toEqual([0.04, 0.2]);
    // Of 100 requests the 95th, of the 40 in the peak the 38th.
    expect(entry.runs[0]).toMatchObject({
      over: 0.04,
      p95Seconds: 0.02,
      podSeconds: 900,
      peak: { over: 0.1 },
    });
    expect(entry.runs[1]).toMatchObject({
      over: 0.2,
      p95Seconds: 0.2,
      podSeconds: 1_100,
      peak: { over: 0.5 },
    });
  });

  it("are a table with the number of pods over time", () => {
    expect(table([entry, entryOf({ ...JUDGED, contender: "hpa-60" }, [run(2, 950.4)])])).toBe(
      [
        "application  contender  runs  requests  failed  over    of single runs  over in peak  p95     in peak  pod·s  requested core·s",
        "podinfo      tradewind  2     200       0       12.0 %  4.0 to 20.0 %   30.0 %        200 ms  200 ms   2000   100.0",
        "podinfo      hpa-60     1     100       0       2.0 %                   5.0 %         20 ms   20 ms    950    47.5",
        "",
        "podinfo, tradewind, run 1, pods:",
        "  frontend 1, 3 from 52 s",
        "  backend 1",
        "podinfo, tradewind, run 2, pods:",
        "  frontend 1, 3 from 52 s",
        "  backend 1",
        "podinfo, hpa-60, run 1, pods:",
        "  frontend 1, 3 from 52 s",
        "  backend 1",
      ].join("\n"),
    );
  });
});
