import { describe, expect, it } from "vitest";
import { START_MS, window, WINDOW_MS } from "../measurements.ts";
import { course, FRONTEND, last, made, replicasOf } from "./decisions.ts";
import type { Change } from "./decisions.ts";

describe("requests that fail", () => {
  const IDLE = [FRONTEND, made("backend", { replicas: 8, requestsPerSecond: 10 })];

  /** A fifth of the requests fails from the tenth window on; a third service has no pod. */
  const failing =
    (waiting: number): Change =>
    (set, at) => ({
      ...set,
      windows: [
        ...set.windows,
        {
          ...window({ service: "profile", replicas: 0, wanted: 2 }, START_MS + at * WINDOW_MS),
          podsUnscheduled: waiting,
        },
      ],
      flows: set.flows.map((each) => (at < 10 ? each : { ...each, errorRatio: 0.2 })),
    });

  it("keep their services as large as they are", () => {
    const outcomes = course(20, IDLE, failing(0));
    expect(replicasOf(last(outcomes))).toBeGreaterThanOrEqual(8);
  });

  it("do not, while a service has no pod for want of room: what the others have left is that room (no-limits-full)", () => {
    const outcomes = course(20, IDLE, failing(2));
    expect(replicasOf(last(outcomes))).toBeLessThan(4);
  });
});
