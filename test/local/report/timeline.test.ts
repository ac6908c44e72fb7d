import { describe, expect, it } from "vitest";
import { createTimeline } from "@tradewind/local/report/timeline.ts";

/** Steps of one second. */
const MINUTE = { roundSeconds: 60, objectiveSeconds: 0.2 } as const;

describe("createTimeline", () => {
  it("gives the p95 of each step by nearest rank once all of its requests can be answered", () => {
    const timeline = createTimeline({ ...MINUTE, isEndless: false });
    for (let each = 1; each <= 20; each += 1)
      timeline.record({ dueSeconds: 0.5, latencySeconds: each / 100 });
    timeline.record({ dueSeconds: 2.5, latencySeconds: 0.3 });
    expect(timeline.read(2.9).p95Ms).toEqual([]);
    expect(timeline.read(3.1).p95Ms).toEqual([190]);
    expect(timeline.read(10)).toEqual({ stepSeconds: 1, p95Ms: [190, null, 300] });
  });

  it("adds up the seconds of steps over the objective once each", () => {
    const timeline = createTimeline({ ...MINUTE, isEndless: false });
    for (const dueSeconds of [0.5, 1.5, 2.5])
      timeline.record({ dueSeconds, latencySeconds: dueSeconds > 1 ? 0.3 : 0.1 });
    timeline.read(30);
    timeline.read(Infinity);
    expect(timeline.secondsOver).toBe(2);
  });

  it("counts what is due just after the end of a run in its last step", () => {
    const timeline = createTimeline({ ...MINUTE, isEndless: false });
    timeline.record({ dueSeconds: 60.2, latencySeconds: 0.1 });
    expect(timeline.read(Infinity).p95Ms).toHaveLength(60);
  });

  it("starts over with each round of a run without an end, and goes on adding up", () => {
    const timeline = createTimeline({ ...MINUTE, isEndless: true });
    timeline.record({ dueSeconds: 10, latencySeconds: 0.4 });
    timeline.read(50);
    timeline.record({ dueSeconds: 61, latencySeconds: 0.4 });
    expect(timeline.read(70).p95Ms).toEqual([null, 400]);
    expect(timeline.secondsOver).toBe(2);
  });
});
